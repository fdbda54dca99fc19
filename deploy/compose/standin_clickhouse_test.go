//go:build !windows

package compose_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"preismon/contracts/atomicfile"
	"preismon/deploy/embedded"
)

const libraryInImage = "/usr/lib/libchdb.so"

// librarySession is the user of the library's own session, as in clickhouse.users.xml.
const librarySession = `<users>
        <default>
            <no_password/>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>session</profile>
            <grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants>
        </default>`

// clickHouse turns this process into a ClickHouse server with the two files of
// embedded.ContainerFiles, using the library instead of a clickhouse program.
// It returns only with an error. Files that differ for the library go to the
// temporary folder.
func clickHouse(args []string) error {
	if len(args) != 2 || args[0] != "server" || args[1] != "--config-file="+embedded.ContainerConfig {
		return fmt.Errorf("this stand-in is started by `clickhouse server --config-file=%s`, not by %q", embedded.ContainerConfig, args)
	}
	config, err := os.ReadFile(embedded.ContainerConfig)
	if err != nil {
		return err
	}
	users, err := os.ReadFile(embedded.ContainerUsers)
	if err != nil {
		return err
	}
	own := filepath.Join(os.TempDir(), "users.xml")
	config = bytes.ReplaceAll(config, []byte(embedded.ContainerUsers), []byte(own))
	if users = bytes.Replace(users, []byte("<users>"), []byte(librarySession), 1); !bytes.Contains(users, []byte("<default>\n            <no_password/>")) {
		return errors.New("the file of the users has no users")
	}
	file := filepath.Join(os.TempDir(), "config.xml")
	if err := errors.Join(atomicfile.Write(file, config), atomicfile.Write(own, users)); err != nil {
		return err
	}
	env, err := embedded.LibraryServer{
		Library: libraryInImage, Data: embedded.ContainerData, Config: file, LogLevel: "information", Listen: "0.0.0.0",
		TCPPort: embedded.ContainerTCPPort, HTTPPort: embedded.ContainerHTTPPort,
	}.Environ()
	if err != nil {
		return err
	}
	// A pipe that this process itself keeps open: there is no other parent.
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		return err
	}
	if pipe[0] != 3 {
		if err := unix.Dup2(pipe[0], 3); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("start again: %w", syscall.Exec(self, os.Args[:1], env))
}

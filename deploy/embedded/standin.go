//go:build !windows

package embedded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"preismon/contracts/atomicfile"

	"golang.org/x/sys/unix"
)

// librarySession is the user of the library's own session, as in clickhouse.users.xml.
const librarySession = `<users>
        <default>
            <no_password/>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>session</profile>
            <grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants>
        </default>`

// StandIn turns this process into a ClickHouse server with the two files of
// ContainerFiles in folder, using the library instead of a clickhouse program:
// for images of tests, on machines that cannot pull any. It returns only with an
// error. Files that differ for the library go to the temporary folder.
func StandIn(library, folder string) error {
	config, err := os.ReadFile(filepath.Join(folder, filepath.Base(ContainerConfig)))
	if err != nil {
		return err
	}
	users, err := os.ReadFile(filepath.Join(folder, filepath.Base(ContainerUsers)))
	if err != nil {
		return err
	}
	own := filepath.Join(os.TempDir(), "users.xml")
	config = bytes.ReplaceAll(config, []byte(ContainerUsers), []byte(own))
	if users = bytes.Replace(users, []byte("<users>"), []byte(librarySession), 1); !bytes.Contains(users, []byte("<default>\n            <no_password/>")) {
		return errors.New("the file of the users has no users")
	}
	file := filepath.Join(os.TempDir(), "config.xml")
	if err := errors.Join(atomicfile.Write(file, config), atomicfile.Write(own, users)); err != nil {
		return err
	}
	spec, err := json.Marshal(childSpec{Library: library, Args: []string{
		"clickhouse", "--path=" + ContainerData, "--config-file=" + file, "--log-level=information", "--listen_host=0.0.0.0",
		"--tcp_port=" + strconv.Itoa(ContainerTCPPort), "--http_port=" + strconv.Itoa(ContainerHTTPPort), "-q", serve,
	}})
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
	return fmt.Errorf("start again: %w", syscall.Exec(self, os.Args[:1], append(childEnvironment(), childVariable+"="+string(spec))))
}

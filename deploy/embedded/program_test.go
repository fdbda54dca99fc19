package embedded_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
)

// fakeVariable turns the test binary into a stand-in for `clickhouse server`:
// it listens on the ports of the given config file and answers everything with
// 200.
const fakeVariable = "PREISMON_TEST_EMBEDDED_FAKE"

func fakeClickHouse(config string) {
	text, err := os.ReadFile(config)
	if err != nil {
		panic(err)
	}
	listen := func(element string) net.Listener {
		port := regexp.MustCompile("<" + element + ">([0-9]+)<").FindSubmatch(text)
		l, err := net.Listen("tcp", "127.0.0.1:"+string(port[1]))
		if err != nil {
			panic(err)
		}
		return l
	}
	_ = listen("tcp_port")
	pid := strconv.Itoa(os.Getpid())
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "pid"), []byte(pid), 0o600); err != nil {
		panic(err)
	}
	panic(http.Serve(listen("http_port"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
}

// putProgram puts a clickhouse on PATH that reports the given version.
func putProgram(t *testing.T, version string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\n[ \"$2\" = --version ] && { echo 'ClickHouse server version " + version + " (official build).'; exit; }\n" +
		"exec env " + fakeVariable + "=\"${2#--config-file=}\" '" + os.Args[0] + "'\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "clickhouse"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestClickHouseProgramOnPath(t *testing.T) {
	putProgram(t, "26.7.1.100")
	for _, kill := range []bool{false, true} {
		dir := t.TempDir()
		ch := must.Get(embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{Dir: dir, Logger: quiet()}))(t)
		if ch.Engine() != "clickhouse program" {
			t.Errorf("engine %q", ch.Engine())
		}
		users, err := os.ReadFile(filepath.Join(dir, "users.xml"))
		if err != nil || strings.Contains(string(users), "<no_password/>") {
			t.Errorf("a server has a user without a password: %v", err)
		}
		text := must.Get(os.ReadFile(filepath.Join(dir, "pid")))(t)
		program := must.Get(strconv.Atoi(string(text)))(t)
		if kill && runtime.GOOS == "linux" {
			must.Do(t, syscall.Kill(ch.PID(), syscall.SIGKILL))
		}
		if err := ch.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		must.Eventually(t, 2*time.Second, "the program ends with its guard", func() bool { return gone(program) })
	}
}

func TestClickHouseProgramTooOld(t *testing.T) {
	putProgram(t, "24.8.1.1")
	ch := must.Get(embedded.StartClickHouse(t.Context(), embedded.ClickHouseConfig{Dir: t.TempDir(), Logger: quiet()}))(t)
	defer func() { _ = ch.Stop(t.Context()) }()
	if ch.Engine() != "clickhouse library" {
		t.Errorf("engine %q", ch.Engine())
	}
}

package embedded

import "strconv"

// serve opens the ports and then holds the library's session for three years.
const serve = `SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; ` +
	`SELECT sleepEachRow(1) FROM numbers(100000000) SETTINGS function_sleep_max_microseconds_per_block=0, max_block_size=1, max_execution_time=0 FORMAT Null`

// LibraryServer is a server that a process becomes by calling the ClickHouse
// library.
type LibraryServer struct {
	Library  string // path of libchdb.so
	Data     string // folder of the tables
	Config   string // path of config.xml
	LogLevel string
	Listen   string // address
	TCPPort  int
	HTTPPort int
}

func (s LibraryServer) spec() childSpec {
	return childSpec{Library: s.Library, Args: []string{
		"clickhouse", "--path=" + s.Data, "--config-file=" + s.Config, "--log-level=" + s.LogLevel,
		"--listen_host=" + s.Listen, "--tcp_port=" + strconv.Itoa(s.TCPPort), "--http_port=" + strconv.Itoa(s.HTTPPort), "-q", serve,
	}}
}

// Environ returns the environment in which any program with this package
// becomes the server as it starts. It ends when its file descriptor 3, a pipe,
// does.
func (s LibraryServer) Environ() ([]string, error) { return s.spec().environ() }

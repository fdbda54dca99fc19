package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// terminal opens a terminal with that many columns; shown returns, once,
// everything that was written to it.
func terminal(t *testing.T, columns uint16) (tty *os.File, shown func() string) {
	t.Helper()
	tty, _, shown = keyboard(t, columns)
	return tty, shown
}

// keyboard is like terminal, with a function that types into it.
func keyboard(t *testing.T, columns uint16) (tty *os.File, typed func(string), shown func() string) {
	t.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	must.Do(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	tty = must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	must.Do(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	text := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(master) // EIO: the other end is closed
		text <- strings.ReplaceAll(string(b), "\r\n", "\n")
	}()
	typed = func(text string) {
		t.Helper()
		must.Get(master.WriteString(text))(t)
	}
	return tty, typed, func() string {
		_ = tty.Close()
		select {
		case s := <-text:
			_ = master.Close()
			return s
		case <-time.After(30 * time.Second):
			t.Fatal("the terminal stays open")
			return ""
		}
	}
}

// sitesServer serves a list of n sites with long names.
func sitesServer(t *testing.T, n int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var rows []string
		for i := range n {
			rows = append(rows, fmt.Sprintf(`{"site":"shop-%d","name":"A shop whose name is rather long, No. %d","siteType":"shop","countryCode":"DE","currencyCode":"EUR"}`, i, i))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data":[%s],"paging":{"nextCursor":null}}`, strings.Join(rows, ","))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestTablesOnTerminals: a table is as wide as the terminal, and reports what
// was cut; it goes through the pager, and quitting the pager is not a failure.
func TestTablesOnTerminals(t *testing.T) {
	url := sitesServer(t, 3)
	t.Setenv("NO_COLOR", "1")
	show := func(pager string, columns uint16, url string) (string, int) {
		t.Setenv("PAGER", pager)
		tty, shown := terminal(t, columns)
		code := run(t.Context(), []string{"sites", "--url", url, "--token", "any"}, streams{strings.NewReader(""), tty, io.Discard})
		return shown(), code
	}
	text, code := show("", 50, url)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "(") && len([]rune(strings.TrimSuffix(line, "\n"))) > 50 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	if code != 0 || !strings.Contains(text, "texts that end in … are cut") || !strings.Contains(text, "A shop whose name …") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if text, code := show("", 200, url); code != 0 || !strings.Contains(text, "rather long, No. 2") || strings.Contains(text, "a wider terminal") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	script := filepath.Join(t.TempDir(), "pager")
	must.Do(t, os.WriteFile(script, []byte("#!/bin/sh\necho paged by $1 with $LESS\nhead -n 2\n"), 0o755))
	if text, code := show(script+" me", 200, url); code != 0 || !strings.Contains(text, "paged by me with FRX\nsite") || strings.Contains(text, "shop-2") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	if text, code := show(script+" me", 200, sitesServer(t, 20_000)); code != 0 || !strings.Contains(text, "paged by me") || strings.Contains(text, "shop-20 ") {
		t.Errorf("left: exit code %d\n%.500s", code, text)
	}
}

// TestLinesAboveTheBar: a log line removes the progress bar, which then appears
// again below it.
func TestLinesAboveTheBar(t *testing.T) {
	tty, shown := terminal(t, 100)
	std := sharing(streams{err: tty})
	log := slog.New(slog.NewTextHandler(std.err, nil))
	show := newProgress(std.err, log, "reading", 100)
	show.at(40)
	log.Info("lines")
	time.Sleep(150 * time.Millisecond) // longer than the bar's delay
	show.at(80)
	show.end()
	fmt.Fprintln(std.err, "the end")
	text := shown()
	if !strings.Contains(text, "msg=lines\n") || !strings.Contains(text, "reading") {
		t.Fatalf("%q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		seen := line[strings.LastIndex(line, "\r")+1:] // what a reset of the line leaves
		if at := strings.LastIndex(line, "\x1b[2K"); at >= 0 {
			seen = line[at:]
		}
		if strings.Contains(seen, "reading") && strings.Contains(seen, "msg=lines") {
			t.Errorf("bar and line are one: %q", seen)
		}
	}
	if before, after, _ := strings.Cut(text, "msg=lines\n"); !strings.HasSuffix(strings.SplitN(before, "time=", 2)[0], clearLine) || !strings.HasPrefix(after, "reading") && !strings.HasPrefix(after, "\x1b[2K") {
		t.Errorf("the bar is not taken away and drawn again: %q", text)
	}
	if !strings.HasSuffix(text, "the end\n") {
		t.Errorf("%q", text)
	}
}

func init() { onOneUp["questions on a terminal"] = questions }

// interruptedAtPassword: an interrupt ends a command that asks for a password, and
// the terminal shows again what is typed.
func interruptedAtPassword(t *testing.T, u *upProcess) {
	tty, _, shown := keyboard(t, 120)
	cmd := command(t, nil, "accounts", "set-password", "asked", "--data-dir", u.DataDir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	must.Do(t, cmd.Start())
	echoes := func() bool {
		state := must.Get(unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS))(t)
		return state.Lflag&unix.ECHO != 0
	}
	must.Eventually(t, time.Minute, "a password is asked for", func() bool { return !echoes() })
	must.Do(t, cmd.Process.Signal(os.Interrupt))
	late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !echoes() {
		t.Errorf("exit code %d, what is typed is shown: %v\n%s", code, echoes(), shown())
	}
}

// questions: consent is requested before anything is published, and only yes
// means yes.
func questions(t *testing.T, u *upProcess) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "preise.csv"), []byte("Shop;Artikel;Preis;Datum\nfrage.de;Stift;1,20 €;01.10.2026 09:00\n"), 0o600))
	answered := func(answer string, args ...string) (string, int) {
		t.Helper()
		tty, typed, shown := keyboard(t, 120)
		cmd := command(t, nil, append(args, "--data-dir", u.DataDir)...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, tty, tty, tty
		typed(answer)
		if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return shown(), cmd.ProcessState.ExitCode()
	}
	says := func(text string, code, want int, words ...string) {
		t.Helper()
		if code != want {
			t.Errorf("exit code %d, want %d:\n%s", code, want, text)
		}
		contains(t, text, words...)
	}
	db := u.tables()
	imported := []string{"import", "preise.csv", "--mandate", "Asked", "--login", "asked"}
	for _, no := range []string{"\n", "n\n", "yess\n"} {
		text, code := answered(no, imported...)
		says(text, code, exitFailed, "Stift", "Publish what is understood as above? [y/N]", "nothing was published")
	}
	equals.Is(t, 0, number(t, db, "SELECT count() FROM mandates WHERE name = 'Asked'"), "published without anybody's consent mandates")
	text, code := answered("Y\ncorrect horse battery staple\n", imported...)
	says(text, code, 0, "Password for asked: ")
	if n := number(t, db, "SELECT count() FROM observations WHERE site = 'frage.de'"); n != 1 {
		t.Errorf("%d observations, of 1 row:\n%s", n, text)
	}

	interruptedAtPassword(t, u)

	text, code = answered("no\n", "accounts", "disable", "asked")
	says(text, code, exitFailed, "Make this change? [y/N]", "nothing was changed")
	list := regexp.MustCompile(`(?m)^.*\basked\b.*$`)
	text, code = answered("\n", "accounts", "list")
	says(list.FindString(text), code, 0, "active")
	text, code = answered("yes\n", "accounts", "disable", "asked")
	says(text, code, 0, "account asked of mandate")
	text, _ = answered("\n", "accounts", "list")
	if line := list.FindString(text); line == "" || strings.Contains(line, "active") {
		t.Errorf("still active:\n%s", text)
	}
}

// TestListsOfOperatorsOnTerminals: only on a terminal is a list cut, which it
// then reports.
func TestListsOfOperatorsOnTerminals(t *testing.T) {
	t.Setenv("PAGER", "")
	t.Setenv("NO_COLOR", "1")
	long := strings.Repeat("reason ", 30)
	show := func(columns uint16) string {
		tty, shown := terminal(t, columns)
		if err := printList(streams{strings.NewReader(""), tty, io.Discard}, []string{"letter", "stream", "reason"}, [][]any{{"1", "OBSERVATIONS", long}}, "None."); err != nil {
			t.Error(err)
		}
		return shown()
	}
	narrow := show(70)
	for line := range strings.Lines(narrow) {
		if !strings.HasPrefix(line, "(") && len([]rune(strings.TrimSuffix(line, "\n"))) > 70 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
	if !strings.Contains(narrow, "a wider terminal has all") {
		t.Error(narrow)
	}
	if wide := show(400); !strings.Contains(wide, strings.TrimSpace(long)) || strings.Contains(wide, "a wider terminal") {
		t.Error(wide)
	}
}

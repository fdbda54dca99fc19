package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"preismon/cmd/preismon/records"
)

// errPagerLeft means that the user left the pager before the end, and wants no more.
var errPagerLeft = errors.New("the pager was left")

// pager returns the program that shows long tables, with its arguments: that of
// PAGER, otherwise less, which exits by itself if everything fits. None if PAGER
// is set to nothing or to cat, or the program does not exist.
func pager() []string {
	command, set := os.LookupEnv("PAGER")
	if !set {
		command = "less -FRX"
	}
	words := strings.Fields(command)
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil
	}
	return words
}

// paged writes a table for people through a pager, which is started with the
// first row.
type paged struct {
	table   func(io.Writer) records.Writer
	command []string
	std     streams

	records.Writer
	cmd *exec.Cmd
	in  io.WriteCloser
}

func (p *paged) Write(record []byte) error {
	if p.Writer == nil {
		if err := p.start(); err != nil {
			return err
		}
	}
	return p.left(p.Writer.Write(record))
}

// start starts the pager; if that fails, the table goes to the terminal.
func (p *paged) start() error {
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Stdout, cmd.Stderr = p.std.out, p.std.err
	if c, ok := p.std.err.(*console); ok {
		cmd.Stderr = c.to
	}
	if _, set := os.LookupEnv("LESS"); !set {
		cmd.Env = append(os.Environ(), "LESS=FRX") // for a PAGER that is just less
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		p.Writer = p.table(p.std.out)
		return nil
	}
	p.cmd, p.in, p.Writer = cmd, in, p.table(in)
	return nil
}

func (p *paged) Flush() error { return p.end(records.Writer.Flush) }

func (p *paged) Close() error { return p.end(records.Writer.Close) }

// end writes the rest and waits until the user has left the pager.
func (p *paged) end(rest func(records.Writer) error) error {
	if p.Writer == nil {
		return nil
	}
	err := p.left(rest(p.Writer))
	if p.cmd == nil {
		return err
	}
	_ = p.in.Close()         // it may be gone
	_ = p.cmd.Wait()         // how a pager exits says nothing about the table
	p.cmd = nil              // a second end waits for nothing
	if err == errPagerLeft { //nolint:errorlint // it is ours, unwrapped
		return nil
	}
	return err
}

// left turns an error of writing to a pager that has exited into errPagerLeft.
func (p *paged) left(err error) error {
	if err != nil && p.cmd != nil && pipeBroken(err) {
		return errPagerLeft
	}
	return err
}

// pipeBroken reports whether an error comes from writing to a program that has exited.
func pipeBroken(err error) bool {
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || errors.Is(err, brokenPipe)
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/term"
)

// console is standard error on a terminal, which log lines and a progress bar
// share: a line removes the bar first, and the bar is drawn again after it.
type console struct {
	to *os.File
	mu sync.Mutex
	// bar is the bar as drawn on the terminal's last line; empty: there is none.
	bar []byte
}

// sharing returns streams whose error stream can share the terminal with a bar.
func sharing(std streams) streams {
	if f, ok := std.err.(*os.File); ok && isTerminal(f) {
		std.err = &console{to: f}
	}
	return std
}

// clearLine clears the last line of the terminal.
const clearLine = "\r\x1b[2K"

// Write writes lines above the bar.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bar) == 0 {
		return c.to.Write(p)
	}
	text := append([]byte(clearLine), p...)
	if bytes.HasSuffix(p, []byte("\n")) {
		text = append(text, c.bar...)
	} else {
		c.bar = nil // it returns when it is drawn next
	}
	if _, err := c.to.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Fd returns the descriptor of the terminal.
func (c *console) Fd() uintptr { return c.to.Fd() }

// barWriter draws the bar of a console.
type barWriter struct{ *console }

// Write draws the bar, or removes it.
func (b barWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bar = bytes.Clone(p[bytes.LastIndexByte(p, '\r')+1:])
	if len(bytes.TrimSpace(b.bar)) == 0 {
		b.bar = nil
	}
	return b.to.Write(p)
}

// drawing returns the writer that a bar is drawn with on w.
func drawing(w io.Writer) io.Writer {
	if c, ok := w.(*console); ok {
		return barWriter{c}
	}
	return w
}

// isTerminal reports whether w, a stream to write to or read from, is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// consent asks the user on a terminal about what was shown; only y and yes mean
// yes. Without a terminal, --yes is required. nothing is what happens otherwise.
func consent(ctx context.Context, std streams, shown, question, nothing string) error {
	if !isTerminal(std.in) {
		return faulty(fmt.Errorf("yes: missing; %s. Check the %s above, and run the command again with --yes", nothing, shown))
	}
	fmt.Fprint(std.err, question+" [y/N] ")
	answer, err := until(ctx, func() (string, error) {
		answer, _ := bufio.NewReader(std.in).ReadString('\n')
		return strings.ToLower(strings.TrimSpace(answer)), nil
	})
	if err == nil && answer != "y" && answer != "yes" {
		err = errors.New(nothing)
	}
	return err
}

// until returns what a read from a terminal returns, or the cause of the end of
// ctx. That does not end the read, after which nothing else may read from there.
func until[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// terminalWidth returns how many cells a line of a terminal has; 0: it is not a
// terminal, or its width is unknown.
func terminalWidth(w any) int {
	if !isTerminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// printable returns a text that does nothing to a terminal: controls, marks that
// change the direction of text, and characters without a width or a meaning are
// replaced by their code. Characters in keep are left unchanged.
func printable(s, keep string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "�") {
		switch {
		case strings.ContainsRune(keep, r), unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

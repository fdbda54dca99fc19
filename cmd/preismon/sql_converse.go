package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// converse runs the statements read from standard input. On a terminal it
// continues after one that failed.
func (e *sqlEngine) converse(ctx context.Context, std streams) error {
	person := isTerminal(std.in)
	prompt := func(text string) {
		if person {
			fmt.Fprint(std.err, text)
		}
	}
	prompt("Each statement ends with ; at the end of a line. DESCRIBE TABLE results; lists the columns. Ctrl-D ends.\n> ")
	var statement strings.Builder
	ask := func() error {
		text := strings.TrimSpace(statement.String())
		statement.Reset()
		if strings.TrimRight(text, "; \n") == "" {
			return nil
		}
		err := e.ask(ctx, text, std.out)
		if err != nil && person && ctx.Err() == nil {
			fmt.Fprintln(std.err, err)
			return nil
		}
		return err
	}
	lines := bufio.NewReader(std.in)
	for {
		line, err := lines.ReadString('\n')
		statement.WriteString(line)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil:
			prompt("\n")
			return ask()
		case !strings.HasSuffix(strings.TrimSpace(line), ";"):
			prompt("  ")
			continue
		}
		if err := ask(); err != nil {
			return err
		}
		prompt("> ")
	}
}

package main

import (
	"embed"
	"errors"
	"io/fs"
	"strings"

	"github.com/alecthomas/kong"
)

const resultsHelp = `Without a window, a product is read over the last 7 days, and everything else over the last day. A read that is refused as too broad is split into smaller windows, then site by site. The exit code is 4 when rows are missing; the message says which.`

// helpFiles are what the help of commands says in addition to their flags:
// help/COMMAND.txt, with a folder for a command that has subcommands.
//
//go:embed help
var helpFiles embed.FS

// describe adds their help to a command and all its subcommands.
func describe(n *kong.Node) error {
	for _, c := range n.Children {
		if err := describe(c); err != nil {
			return err
		}
	}
	text, err := helpFiles.ReadFile("help/" + strings.ReplaceAll(n.Path(), " ", "/") + ".txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	shared := strings.NewReplacer("{results}", resultsHelp, "{explainable}", strings.Join(explainable, ", "))
	n.Detail = shared.Replace(strings.TrimSuffix(string(text), "\n"))
	return err
}

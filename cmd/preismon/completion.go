package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"${enum}." enum:"bash,zsh,fish"`
}

// completions query the program itself, so that they are never out of date.
// Where it has no suggestion, the shell offers files.
var completions = map[string]string{
	"bash": `_preismon() {
	local IFS=$'\n'
	COMPREPLY=($(preismon __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _preismon preismon
`,
	"zsh": `#compdef preismon
_preismon() {
	local -a found
	found=(${(f)"$(preismon __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _preismon preismon
`,
	"fish": `complete -c preismon -a '(preismon __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

func (c *completionCmd) Run(std streams) error {
	_, err := fmt.Fprint(std.out, completions[c.Shell])
	return err
}

// completeCmd is what the shells call, with the words after the program's name;
// the last one is the one to complete.
type completeCmd struct {
	Words []string `arg:"" optional:"" help:"Words of the command line so far."`
}

func (c *completeCmd) Run(k *kong.Context, std streams) error {
	for _, word := range complete(k.Model.Node, c.Words) {
		fmt.Fprintln(std.out, word)
	}
	return nil
}

// complete returns what the last word may become.
func complete(node *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	flags := map[string]*kong.Flag{}
	know := func(n *kong.Node) {
		for _, f := range n.Flags {
			flags["--"+f.Name] = f
			if f.Short != 0 {
				flags["-"+string(f.Short)] = f
			}
		}
	}
	know(node)
	var open *kong.Flag // the flag that waits for its value
	given := 0          // positional arguments
	for _, word := range words[:len(words)-1] {
		switch f := flags[word]; {
		case open != nil:
			open = nil
		case f != nil && !f.IsBool():
			open = f
		case strings.HasPrefix(word, "-"):
		default:
			child := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == word })
			if child < 0 {
				given++
				continue
			}
			node = node.Children[child]
			know(node)
		}
	}
	var offer []string
	switch {
	case open != nil:
		offer = open.EnumSlice()
	case strings.HasPrefix(last, "-"):
		for name, f := range flags {
			if strings.HasPrefix(name, "--") && !f.Hidden {
				offer = append(offer, name)
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				offer = append(offer, child.Name)
			}
		}
		if given < len(node.Positional) {
			offer = append(offer, node.Positional[given].EnumSlice()...)
		}
	}
	offer = slices.DeleteFunc(offer, func(word string) bool { return word == "" || !strings.HasPrefix(word, last) })
	slices.Sort(offer)
	return offer
}

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
func complete(node *kong.Node, words []string) (all []string) {
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
			if child := childOf(node, word); child != nil {
				node = child
				know(node)
			} else {
				given++
			}
		}
	}
	var offer []string
	switch {
	case open != nil:
		offer = values(open.Value)
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
			offer = append(offer, values(node.Positional[given])...)
		}
	}
	return matching(offer, last)
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// values returns the possible values of a flag or an argument, if they are known.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

func matching(offer []string, prefix string) (all []string) {
	for _, word := range offer {
		if word != "" && strings.HasPrefix(word, prefix) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

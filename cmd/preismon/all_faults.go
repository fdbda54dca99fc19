package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// commandFaults are the faults of a command line, the environment and the config
// file, one per line.
type commandFaults struct {
	lines  []string
	broken map[string]bool // flags whose value cannot be read, by name
	rest   []string        // the command line without what cannot be read
}

// allFaults returns all faults. The parser stops at the first that it cannot
// parse; the others are found here, and what can be parsed is then checked as
// the command itself would check it.
func allFaults(ctx context.Context, first error, args []string) []string {
	f := &commandFaults{lines: strings.Split(first.Error(), "\n"), broken: map[string]bool{}, rest: args}
	wrong, ok := errors.AsType[*kong.ParseError](first)
	if ok && f.read(wrong.Context, args) {
		f.check(ctx)
	}
	for i, line := range f.lines {
		f.lines[i] = noValue.ReplaceAllString(line, "a value is missing")
	}
	return f.lines
}

// noValue matches the parser's message for a flag without a value at the end of
// the command line.
var noValue = regexp.MustCompile(`expected .* but got "EOL" \(<EOL>\)`)

func (f *commandFaults) add(text string) {
	if text != "" && !slices.ContainsFunc(f.lines, func(l string) bool { return sameFault(l, text) }) {
		f.lines = append(f.lines, text)
	}
}

// read finds everything that cannot be parsed; false: the rest is for another
// command.
func (f *commandFaults) read(of *kong.Context, args []string) bool {
	node, commands := of.Model.Node, 0
	for _, part := range of.Path {
		if part.Command != nil {
			node = part.Command
			commands++
		}
	}
	for _, p := range node.Positional {
		if p.Passthrough { // flags of another command
			return false
		}
	}
	known := flagsOf(node)
	if len(node.Positional) > 0 || len(node.Children) > 0 {
		commands = len(args) // every word may have a meaning
	}
	inFile, err := configFile(known["--config"], args)
	if err != nil {
		f.broken["config"] = true
	}
	given := f.commandLine(known, args, commands)
	if err := inFile.Validate(of.Model); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			f.add(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		flag := known[name]
		if name != "--"+flag.Name || given[flag] {
			continue
		}
		if env := slices.IndexFunc(flag.Envs, func(env string) bool { _, ok := os.LookupEnv(env); return ok }); env >= 0 {
			f.value(flag, os.Getenv(flag.Envs[env]), fmt.Sprintf(" (from envar %s=%q)", flag.Envs[env], os.Getenv(flag.Envs[env])))
		} else if value, _ := inFile.Resolve(nil, nil, flag); value != nil {
			f.value(flag, fmt.Sprint(value), " (from the config file)")
		}
	}
	return true
}

// value reports whether the value of a flag can be parsed, and records the fault if not.
func (f *commandFaults) value(flag *kong.Flag, value, where string) bool {
	fault := valueFault(flag, value, where)
	f.add(fault)
	if fault != "" {
		f.broken[flag.Name] = true
	}
	return fault == ""
}

// flagsOf returns the flags of a command by all their names, with the dashes.
func flagsOf(node *kong.Node) map[string]*kong.Flag {
	known := map[string]*kong.Flag{}
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			known["--"+f.Name] = f
			for _, alias := range f.Aliases {
				known["--"+alias] = f
			}
			if f.Short != 0 {
				known["-"+string(f.Short)] = f
			}
		}
	}
	return known
}

// configFile reads the file that --config names, on the command line or in the
// environment. The parser reports why one cannot be read.
func configFile(flag *kong.Flag, args []string) (fileResolver, error) {
	name := ""
	if flag != nil && len(flag.Envs) > 0 {
		name = os.Getenv(flag.Envs[0])
	}
	for i, a := range args {
		if value, ok := strings.CutPrefix(a, "--config="); ok {
			name = value
		} else if a == "--config" && i+1 < len(args) {
			name = args[i+1]
		}
	}
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(kong.ExpandPath(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	values, err := loadConfigFile(f)
	if err != nil {
		return nil, err
	}
	return values.(fileResolver), nil
}

// sameFault reports whether two sentences describe one fault: the parser's text
// is longer than ours.
func sameFault(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || strings.HasPrefix(a, b+",") || strings.HasPrefix(a, b+" ")
}

// commandLine finds unknown flags, values that cannot be parsed and, after the
// given number of words, unexpected ones. It returns the flags that are present.
func (f *commandFaults) commandLine(known map[string]*kong.Flag, args []string, words int) map[*kong.Flag]bool {
	given := map[*kong.Flag]bool{}
	f.rest = nil
	unknown := false // the previous word was an unknown flag: this one may be its value
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			f.rest = append(f.rest, args[i:]...)
			break
		}
		after := unknown
		unknown = false
		if len(args[i]) < 2 || args[i][0] != '-' {
			if words--; words >= 0 {
				f.rest = append(f.rest, args[i])
			} else if !after {
				f.add("unexpected argument " + args[i])
			}
			continue
		}
		name, value, has := strings.Cut(args[i], "=")
		flag := known[name]
		switch {
		case flag == nil && strings.HasPrefix(name, "--no-") && known["--"+name[5:]] != nil:
			given[known["--"+name[5:]]] = true
		case flag == nil && strings.HasPrefix(name, "--"):
			f.add("unknown flag " + name)
			unknown = true
			continue
		case flag == nil: // short flags in one word
		default:
			given[flag] = true
			from := i
			if !has && !flag.IsBool() && !flag.IsCounter() {
				if i++; i >= len(args) {
					f.broken[flag.Name] = true
					return given
				}
				value, has = args[i], true
			}
			if !has || f.value(flag, value, "") && !f.broken[flag.Name] {
				f.rest = append(f.rest, args[from:i+1]...)
			}
			continue
		}
		f.rest = append(f.rest, args[i])
	}
	return given
}

// valueFault returns what is wrong with the value of a flag, and where it comes
// from; empty: nothing is.
func valueFault(f *kong.Flag, value, where string) string {
	into := reflect.New(f.Target.Type()).Elem()
	err := f.Parse(kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value}), into)
	switch {
	case err != nil:
		return err.Error() + where
	case f.Enum == "" || into.Kind() != reflect.String || slices.Contains(f.EnumSlice(), into.String()):
		return ""
	}
	var all []string
	for _, one := range f.EnumSlice() {
		all = append(all, fmt.Sprintf("%q", one))
	}
	return fmt.Sprintf("%s must be one of %s but got %q", f.ShortSummary(), strings.Join(all, ","), value) + where
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// allFaults are what is wrong with a command line, the environment and the
// config file, a line each. The parser stops at the first; the others are
// looked for here.
func allFaults(first error, args []string) []string {
	lines := strings.Split(first.Error(), "\n")
	wrong, ok := errors.AsType[*kong.ParseError](first)
	if !ok {
		return lines
	}
	add := func(text string) {
		if text != "" && !slices.ContainsFunc(lines, func(l string) bool { return sameFault(l, text) }) {
			lines = append(lines, text)
		}
	}
	node := wrong.Context.Model.Node
	for _, part := range wrong.Context.Path {
		if part.Command != nil {
			node = part.Command
		}
	}
	for _, p := range node.Positional {
		if p.Passthrough { // flags of another command
			return lines
		}
	}
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
	given := commandLineFaults(known, args, add)
	inFile := configFile(known["--config"], args)
	if err := inFile.Validate(wrong.Context.Model); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			add(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		f := known[name]
		if name != "--"+f.Name || given[f] {
			continue
		}
		if env := slices.IndexFunc(f.Envs, func(env string) bool { _, ok := os.LookupEnv(env); return ok }); env >= 0 {
			add(valueFault(f, os.Getenv(f.Envs[env]), fmt.Sprintf(" (from envar %s=%q)", f.Envs[env], os.Getenv(f.Envs[env]))))
		} else if value, _ := inFile.Resolve(nil, nil, f); value != nil {
			add(valueFault(f, fmt.Sprint(value), " (from the config file)"))
		}
	}
	return lines
}

// configFile reads the file that --config names, here or in the environment;
// none where it cannot be read: the parser says so.
func configFile(flag *kong.Flag, args []string) fileResolver {
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
		return nil
	}
	f, err := os.Open(kong.ExpandPath(name))
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	values, err := loadConfigFile(f)
	if err != nil {
		return nil
	}
	return values.(fileResolver)
}

// sameFault tells two sentences about one fault: the parser writes more than is
// found here.
func sameFault(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || strings.HasPrefix(a, b+",") || strings.HasPrefix(a, b+" ")
}

// commandLineFaults finds unknown flags and values that cannot be read, and
// gives the flags that are there.
func commandLineFaults(known map[string]*kong.Flag, args []string, add func(string)) map[*kong.Flag]bool {
	given := map[*kong.Flag]bool{}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if len(args[i]) < 2 || args[i][0] != '-' {
			continue
		}
		name, value, has := strings.Cut(args[i], "=")
		f := known[name]
		switch {
		case f == nil && strings.HasPrefix(name, "--no-") && known["--"+name[5:]] != nil:
			given[known["--"+name[5:]]] = true
			continue
		case f == nil && strings.HasPrefix(name, "--"):
			add("unknown flag " + name)
			continue
		case f == nil: // short flags in one word
			continue
		}
		given[f] = true
		if !has && !f.IsBool() && !f.IsCounter() {
			if i++; i >= len(args) {
				return given
			}
			value, has = args[i], true
		}
		if has {
			add(valueFault(f, value, ""))
		}
	}
	return given
}

// valueFault says what is wrong with the value of a flag, and where it is from;
// empty: nothing is.
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

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// readFile is the config file without what cannot be parsed.
type readFile struct{ fileResolver }

// Validate implements kong.Resolver. It finds nothing: the faults of the file
// are already known.
func (readFile) Validate(*kong.Application) error { return nil }

// check has the command validate what could be parsed, as --check does, and adds
// the faults it finds. Faults that only follow from a value that could not be
// parsed are left out.
func (f *commandFaults) check(ctx context.Context) {
	c := newCLI()
	exited := false
	parser := newParser(ctx, c, streams{strings.NewReader(""), io.Discard, io.Discard}, func(int) { exited = true })
	if err := kong.Configuration(f.loadRest).Apply(parser); err != nil {
		return
	}
	_ = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error { // the visitor returns no errors
		if flag, ok := node.(*kong.Flag); ok && f.broken[flag.Name] {
			flag.Envs, flag.Tag.Envs = nil, nil
		}
		return next(nil)
	})
	k, err := parser.Parse(f.rest)
	if err != nil || exited {
		return
	}
	check := slices.IndexFunc(k.Flags(), func(flag *kong.Flag) bool { return flag.Name == "check" })
	if check < 0 { // a command that queries a server
		return
	}
	k.Flags()[check].Target.SetBool(true)
	wrong := k.Run(k, slog.New(slog.DiscardHandler))
	if !errors.As(wrong, new(*configError)) {
		return
	}
	for _, line := range faultLines(wrong) {
		if !f.follows(line) {
			f.add(asFlags(k.Flags(), line))
		}
	}
}

func (f *commandFaults) loadRest(r io.Reader) (kong.Resolver, error) {
	values, err := loadConfigFile(r)
	if err != nil {
		return readFile{}, nil
	}
	file := values.(fileResolver)
	for name := range f.broken {
		delete(file, name)
	}
	return readFile{file}, nil
}

var wordsOfFault = regexp.MustCompile(`[a-z][a-z0-9-]*`)

// follows reports whether a fault may result from a value that could not be
// parsed: it names the flag, or something is missing that may be in the file.
func (f *commandFaults) follows(line string) bool {
	if f.broken["config"] && (strings.Contains(line, "missing") || strings.Contains(line, "needed")) {
		return true
	}
	return slices.ContainsFunc(wordsOfFault.FindAllString(line, -1), func(name string) bool { return f.broken[name] })
}

// asFlags adds the dashes to the names of flags before the colon of a fault.
func asFlags(flags []*kong.Flag, line string) string {
	names, rest, ok := strings.Cut(line, ": ")
	all := strings.Split(names, ", ")
	for i, name := range all {
		if !ok || !slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == name || slices.Contains(f.Aliases, name) }) {
			return line
		}
		all[i] = "--" + name
	}
	return strings.Join(all, ", ") + ": " + rest
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
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
	broken map[string]bool // flags and arguments whose value cannot be read, by name
	// where returns what is added to the fault of a value that is being parsed; no:
	// the value does not count.
	where func(*kong.Value) (text string, counts bool)
}

// allFaults returns all faults. The parser stops at the first; here it parses
// again, and forgives what can be noted. What can be parsed is then checked as
// the command itself would check it.
func allFaults(ctx context.Context, first error, args []string) []string {
	f := &commandFaults{lines: faultLines(first), broken: map[string]bool{}}
	f.parse(ctx, args)
	for i, line := range f.lines {
		f.lines[i] = noValue.ReplaceAllString(line, "a value is missing")
	}
	return f.lines
}

var (
	// noValue matches the parser's message for a flag without a value at the end
	// of the command line.
	noValue = regexp.MustCompile(`expected .* but got "EOL" \(<EOL>\)`)
	// noMeaning matches the parser's messages for a word without a meaning.
	noMeaning = regexp.MustCompile(`^(unknown flag|unexpected argument) `)
)

func (f *commandFaults) add(text string) {
	if !slices.ContainsFunc(f.lines, func(l string) bool { return sameFault(l, text) }) {
		f.lines = append(f.lines, text)
	}
}

// sameFault reports whether two sentences describe one fault: the parser's text
// is longer than ours.
func sameFault(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	rest, same := strings.CutPrefix(a, b)
	return same && (rest == "" || strings.ContainsRune(",; ", rune(rest[0])))
}

// parse notes what cannot be parsed, each word without a meaning by parsing the
// others again, and checks the rest.
func (f *commandFaults) parse(ctx context.Context, args []string) {
	value := -1 // where the value of an unknown flag may be
	for {
		exited := false
		f.where = func(*kong.Value) (string, bool) { return "", true }
		parser := newParser(ctx, newCLI(), streams{strings.NewReader(""), io.Discard, io.Discard}, func(int) { exited = true },
			kong.Configuration(f.load), kong.PostBuild(f.forgive), kong.WithBeforeReset(f.environment), kong.WithBeforeResolve(f.file))
		k, err := parser.Parse(args)
		wrong, _ := errors.AsType[*kong.ParseError](err)
		switch {
		case err == nil && !exited:
			f.check(k)
			return
		case errors.As(err, new(*fs.PathError)) && !f.broken["config"]: // the first fault says why
			f.broken["config"] = true
			continue
		case err == nil || wrong == nil || !noMeaning.MatchString(err.Error()):
			return
		}
		path := wrong.Context.Path
		at := len(args) - len(path[len(path)-1].Remainder())
		flag := strings.HasPrefix(args[at], "-")
		if flag || at != value {
			f.add(err.Error())
		}
		if value = -1; flag && !strings.Contains(args[at], "=") {
			value = at
		}
		args = slices.Concat(args[:at], args[at+1:])
	}
}

// environment is called before the parser reads the environment, in which only
// the command's flags count that are not on the command line.
func (f *commandFaults) environment(k *kong.Context) error {
	count := map[*kong.Value]bool{}
	for _, flag := range k.Flags() {
		count[flag.Value] = true
	}
	for _, part := range k.Path {
		if part.Flag != nil {
			delete(count, part.Flag.Value)
		}
	}
	f.where = func(v *kong.Value) (string, bool) {
		for _, env := range v.Tag.Envs {
			if value, ok := os.LookupEnv(env); ok {
				return fmt.Sprintf(" (from envar %s=%q)", env, value), count[v]
			}
		}
		return "", false
	}
	return nil
}

// file is called before the parser takes values from the config file.
func (f *commandFaults) file() error {
	f.where = func(*kong.Value) (string, bool) { return " (from the config file)", true }
	return nil
}

// forgive makes the parser go on after a value that it cannot read.
func (f *commandFaults) forgive(parser *kong.Kong) error {
	return kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if v, ok := node.(*kong.Value); ok {
			v.Mapper = forgiving{v.Mapper, f}
		}
		return next(nil)
	})
}

// forgiving takes the default for a value that cannot be read, and notes that.
type forgiving struct {
	kong.Mapper
	*commandFaults
}

func (m forgiving) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	v, fault := ctx.Value, ""
	if err := m.Mapper.Decode(ctx, target); err != nil {
		fault = v.ShortSummary() + ": " + err.Error()
	} else if v.Enum != "" && target.Kind() == reflect.String && !slices.Contains(v.EnumSlice(), target.String()) {
		fault = fmt.Sprintf(`%s must be one of "%s" but got %q`, v.ShortSummary(), strings.Join(v.EnumSlice(), `","`), target.String())
	}
	if file, ok := target.Addr().Interface().(*kong.ConfigFlag); ok && m.broken["config"] {
		*file = os.DevNull
	}
	if fault == "" {
		return nil
	}
	if text, counts := m.where(v); counts {
		m.broken[v.Name] = true
		m.add(fault + text)
	}
	target.SetZero()
	if !v.HasDefault {
		return nil
	}
	return m.Mapper.Decode(&kong.DecodeContext{Value: v, Scan: kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: v.Default})}, target)
}

// readFile is the config file, whose faults are noted.
type readFile struct {
	fileResolver
	*commandFaults
}

func (f *commandFaults) load(r io.Reader) (kong.Resolver, error) {
	values, err := loadConfigFile(r)
	if err != nil { // the first fault says why
		f.broken["config"] = true
		return fileResolver{}, nil
	}
	return readFile{values.(fileResolver), f}, nil
}

// Validate implements kong.Resolver.
func (r readFile) Validate(app *kong.Application) error {
	if err := r.fileResolver.Validate(app); err != nil {
		for _, line := range faultLines(err) {
			r.add(line)
		}
	}
	return nil
}

// check has the command validate what could be parsed, as --check does, and adds
// the faults it finds. Faults that only follow from a value that could not be
// parsed are left out.
func (f *commandFaults) check(k *kong.Context) {
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

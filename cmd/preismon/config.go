package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"preismon/contracts"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/lmittmann/tint"
)

// configError is one or more faults of the command line, the environment and the
// config file, one per line.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }

func (e *configError) Unwrap() error { return e.err }

// faultLines returns the faults of an error, which may be several joined ones.
func faultLines(err error) []string { return strings.Split(err.Error(), "\n") }

// faulty joins the faults of all parts; nil if there are none.
func faulty(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return &configError{err}
	}
	return nil
}

// address returns what is wrong with an address to listen on.
func address(flag, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s: %s is not of the form HOST:PORT", flag, value)
	}
	return nil
}

// secret is a value that is never printed; @FILE reads it from a file.
type secret struct{ contracts.Secret }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *secret) UnmarshalText(text []byte) error {
	if file, ok := strings.CutPrefix(string(text), "@"); ok {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = []byte(strings.TrimRight(string(b), "\r\n"))
	}
	s.Secret = contracts.Secret(text)
	return nil
}

// roleFlags are what every long-running role accepts.
type roleFlags struct {
	Check       bool `help:"Validate the configuration, and do nothing." env:"-"`
	PrintConfig bool `help:"Print the configuration that is in force, secrets hidden, and do nothing." env:"-"`
}

// only handles --check and --print-config: done means that there is nothing else
// to do. All faults of the configuration are reported at once.
func (r roleFlags) only(k *kong.Context, out io.Writer, faults error) (done bool, err error) {
	if r.PrintConfig {
		printConfig(k, out)
		return true, faults
	}
	if faults != nil {
		return true, faults
	}
	if r.Check {
		fmt.Fprintln(out, "The configuration is valid.")
	}
	return r.Check, nil
}

func printConfig(k *kong.Context, out io.Writer) {
	flags := k.Flags()
	slices.SortFunc(flags, func(a, b *kong.Flag) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range flags {
		switch f.Name {
		case "help", "config", "check", "print-config":
			continue
		}
		fmt.Fprintf(out, "%s: %v\n", f.Name, k.FlagValue(f))
	}
}

// loadConfigFile reads "flag-name: value" lines. A key that is not a flag of any
// command is refused.
func loadConfigFile(r io.Reader) (kong.Resolver, error) {
	values := map[string]any{}
	if err := yaml.NewDecoder(r).Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config file: %s", yaml.FormatError(err, false, true))
	}
	return fileResolver(values), nil
}

type fileResolver map[string]any

func (v fileResolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error { // the visitor returns no errors
		if f, ok := node.(*kong.Flag); ok {
			known[f.Name] = true
		}
		return next(nil)
	})
	var faults contracts.Faults
	for _, key := range slices.Sorted(maps.Keys(v)) {
		faults.Check(known[key], "config file: %q is not a flag of any command", key)
	}
	return faults.Err()
}

// Resolve returns the file's value, unless the environment has one: a resolver's
// value would replace it.
func (v fileResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	switch value := v[flag.Name].(type) {
	case nil:
		return nil, nil
	case []any:
		parts := make([]string, len(value))
		for i, p := range value {
			parts[i] = fmt.Sprint(p)
		}
		return strings.Join(parts, ","), nil
	default:
		return fmt.Sprint(value), nil
	}
}

// logFlags configure logging.
type logFlags struct {
	Format string `help:"Format of log lines: ${enum}. auto: text on a terminal, else json." enum:"auto,text,json" default:"auto"`
	Level  string `help:"Lowest level that is logged: ${enum}." enum:"debug,info,warn,error" default:"info"`
}

func (f logFlags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.Level)); err != nil {
		panic(err) // kong checked the enum
	}
	text := f.Format == "text" || f.Format == "auto" && isTerminal(w)
	if text {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, NoColor: !isTerminal(w)}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

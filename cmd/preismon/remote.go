package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"preismon/cmd/preismon/client"
	"preismon/cmd/preismon/records"
	"preismon/query/frame"

	"github.com/alecthomas/kong"
)

// remoteFlags select which server a client command queries, and as which user.
type remoteFlags struct {
	URL   string `help:"Address of the server. Default: the one you are logged in at, else ${local_server}." placeholder:"URL"`
	Token secret `help:"Access token, instead of the one that login keeps." placeholder:"TOKEN"`

	patience time.Duration // of the client; 0: its default
}

const localServer = "http://127.0.0.1:8080"

// tokens returns those of the user, in the user's config folder.
func tokens() (client.Tokens, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return client.Tokens{}, fmt.Errorf("there is no place to keep tokens: %w; use --token", err)
	}
	return client.Tokens{Dir: filepath.Join(dir, "preismon", "tokens")}, nil
}

// server returns the address of the server to query.
func (f remoteFlags) server() (string, error) {
	if f.URL != "" {
		u, err := client.ParseURL(f.URL)
		if err != nil {
			return "", faulty(err)
		}
		return u.String(), nil
	}
	if t, err := tokens(); err == nil {
		switch all, err := t.Servers(); {
		case err != nil:
			return "", err
		case len(all) == 1:
			return all[0], nil
		case len(all) > 1:
			return "", faulty(fmt.Errorf("url: you are logged in at several servers, name one: %q", all))
		}
	}
	return localServer, nil
}

// remote is a server, as a command uses it.
type remote struct {
	*client.Client
	url, login string
}

// ProvideRemote connects before a command runs that takes a *remote.
func (f remoteFlags) ProvideRemote(std streams) (*remote, error) { return f.connect(std) }

// connect determines address and token. It sends nothing to the server.
func (f remoteFlags) connect(std streams) (*remote, error) {
	r := &remote{login: "YOU"}
	var err error
	if r.url, err = f.server(); err != nil {
		return nil, err
	}
	token := f.Token.Secret
	if token == "" {
		store, err := tokens()
		if err != nil {
			return nil, err
		}
		kept, err := store.Of(r.url)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("you are not logged in at %s; run: preismon login --url %s --login %s", r.url, r.url, r.login)
		}
		if err != nil {
			return nil, err
		}
		token, r.login = kept.Token, kept.Login
	}
	r.Client, err = newClient(std, client.Config{URL: r.url, Token: token, Patience: f.patience})
	return r, err
}

func newClient(std streams, cfg client.Config) (*client.Client, error) {
	cfg.Notice = func(text string) { fmt.Fprintln(std.err, text) }
	debug.SetGCPercent(400) // a client holds little, of which nearly all is soon garbage
	return client.New(cfg)
}

// explain adds to an error what can be done about it.
func (r *remote) explain(err error) error {
	if client.Expired(err) {
		return fmt.Errorf("%w\nThe token for %s is not valid any more: it expired or was revoked. Run: preismon login --url %s --login %s", err, r.url, r.url, r.login)
	}
	return byFlags(unanswered(r.url, err))
}

// unanswered adds to a failed connection what may be wrong.
func unanswered(url string, err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return fmt.Errorf("nothing answers at %s: is it running, and is this its address? (%w)", url, err)
	}
	return err
}

// flagOf returns the flags by parameter: those of all client commands, as they
// declare them.
var flagOf = sync.OnceValue(func() map[string]string {
	parser, err := kong.New(newCLI(), kong.Vars(defaults()))
	if err != nil {
		panic(err) // a mistake in the flags' definition
	}
	all := map[string]string{}
	for _, command := range parser.Model.Leaves(false) {
		if command.ClosestGroup() == nil { // not a client command
			continue
		}
		for _, f := range command.Flags {
			words := strings.Split(f.Name, "-")
			for i := 1; i < len(words); i++ {
				words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
			}
			all[strings.Join(words, "")] = "--" + f.Name
		}
	}
	all["capturedFrom"], all["capturedTo"] = "--from", "--to" // their short names
	return all
})

var (
	// parameterName matches a word that can only be a parameter, with the value
	// if it is a switch.
	parameterName = regexp.MustCompile(`\b[a-z]+[A-Z]\w*(=true\b)?`)
	// plainParameter matches the parameter that a fault is about, which may be
	// an ordinary word: "site: ...".
	plainParameter = regexp.MustCompile(`(?m)(^|[;.] )[a-z]+:`)
	// parameterList matches what may be a list of parameters, and plainWord one of them.
	parameterList = regexp.MustCompile(`\([^()]*\)`)
	plainWord     = regexp.MustCompile(`(^|[( ])[a-z]+\b`)
)

// flagFor replaces the parameter in a piece of a refusal by its flag.
func flagFor(said string) string {
	word := strings.TrimSuffix(strings.Trim(said, " (;.:"), "=true")
	flag := flagOf()[word]
	for group, name := range includes {
		if name == word {
			flag = "--include " + group
		}
	}
	if flag == "" {
		return said
	}
	return strings.Replace(strings.TrimSuffix(said, "=true"), word, flag, 1)
}

// flagged is a refusal that names flags where the server's text names parameters.
type flagged struct {
	error
	text string
}

func (f flagged) Error() string { return f.text }
func (f flagged) Unwrap() error { return f.error }

// byFlags makes a refusal name the flags of the parameters that it is about.
func byFlags(err error) error {
	refusal, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return err
	}
	detail := parameterName.ReplaceAllStringFunc(refusal.Detail, flagFor)
	detail = plainParameter.ReplaceAllStringFunc(detail, flagFor)
	detail = parameterList.ReplaceAllStringFunc(detail, func(list string) string {
		if !strings.Contains(list, "--") {
			return list
		}
		return plainWord.ReplaceAllStringFunc(list, flagFor)
	})
	return flagged{err, strings.Replace(err.Error(), refusal.Detail, detail, 1)}
}

// formatFlag selects the form in which records are written.
type formatFlag struct {
	Format string `help:"Format of the answer: ${enum}. auto: a table on a terminal, else NDJSON." enum:"auto,table,ndjson,csv" default:"auto" env:"-"`
}

// writer returns the writer of records to standard output; fields are the
// columns of CSV, and those with a dot also determine which objects a table
// expands.
func (f formatFlag) writer(std streams, fields []string) records.Writer {
	if f.Format == "table" || f.Format == "auto" && isTerminal(std.out) {
		return &saysNone{Writer: records.Flat(forPeople(std, records.Table), fields), says: std.saysNoRows}
	}
	return forPrograms(f.Format, std.out, fields, nil)
}

// forPrograms returns the writer of records in a form for programs: NDJSON, unless
// it is another one.
func forPrograms(form string, w io.Writer, fields []string, columns []frame.Column) records.Writer {
	switch form {
	case "csv":
		return records.Flat(records.CSV(w, fields), fields)
	case "arrow":
		return records.Arrow(w, columns)
	case "parquet":
		return records.Parquet(w, columns)
	}
	return records.NDJSON(w)
}

// forPeople shows records as a table: no wider than the terminal and, if there
// is one, through a pager.
func forPeople(std streams, table func(w io.Writer, colours bool, width int) records.Writer) records.Writer {
	to := func(w io.Writer) records.Writer { return table(w, coloured(std), terminalWidth(std.out)) }
	if command := pager(); len(command) > 0 && isTerminal(std.out) {
		return &paged{table: to, command: command, std: std}
	}
	return to(std.out)
}

// printList shows a table to an operator, each row with a value for each column;
// none is printed if there are no rows.
func printList(std streams, columns []string, rows [][]any, none string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(std.out, none)
		return err
	}
	out := forPeople(std, records.List)
	for _, row := range rows {
		record, err := object(columns, row)
		if err != nil {
			return err
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	return out.Close()
}

// saysNone calls says when nothing was written: an empty table would show nothing.
type saysNone struct {
	records.Writer
	says func()
	any  bool
}

func (c *saysNone) Write(record []byte) error {
	c.any = true
	return c.Writer.Write(record)
}

func (c *saysNone) Close() error {
	if !c.any {
		c.says()
	}
	return c.Writer.Close()
}

func (s streams) saysNoRows() { fmt.Fprintln(s.err, "No rows.") }

// coloured reports whether to use colours (no-color.org).
func coloured(std streams) bool {
	return isTerminal(std.out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

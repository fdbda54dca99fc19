package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"preismon/cmd/preismon/client"
)

type historyCmd struct {
	List     historyListCmd     `cmd:"" help:"List the archived files of an order."`
	Download historyDownloadCmd `cmd:"" help:"Download an archived file of an order."`
}

// historyFlags select files.
type historyFlags struct {
	remoteFlags
	Order      string  `arg:"" help:"Id of the order, or its alias."`
	Kind       string  `help:"Which files: ${enum}." enum:"exports,imports" default:"exports" env:"-"`
	DateFrom   instant `aliases:"from" help:"Archived at this time or later: RFC 3339, a date, or like now-7d. Also --from." env:"-" placeholder:"TIME"`
	DateTo     instant `aliases:"to" help:"Archived at this time or earlier: RFC 3339, a date, or like now-7d. Also --to." env:"-" placeholder:"TIME"`
	ExportName string  `help:"Only files of this export." env:"-" placeholder:"TEXT"`
	Name       string  `help:"Only this file." env:"-" placeholder:"TEXT"`
}

func (f *historyFlags) params() url.Values {
	p := parametersOf(*f)
	p.Del("order") // this and the kind are in the path
	p.Del("kind")
	return p
}

// order returns the id of the order, which may be given by its alias. Ids are
// digits.
func (f *historyFlags) order(ctx context.Context, r *remote) (string, error) {
	if strings.Trim(f.Order, "0123456789") == "" {
		return f.Order, nil
	}
	var ids []string
	for row, err := range r.List(client.Executed(ctx), "/v1/orders", url.Values{"alias": {f.Order}}) {
		var order struct{ OrderID string }
		if err == nil {
			err = json.Unmarshal(row, &order)
		}
		if err != nil {
			return "", r.explain(err)
		}
		ids = append(ids, order.OrderID)
	}
	if len(ids) != 1 {
		return "", fmt.Errorf("order: %s have the alias %q; preismon orders shows the id of each", plural(len(ids), "order"), f.Order)
	}
	return ids[0], nil
}

type historyListCmd struct {
	historyFlags
	listFlags
}

func (c *historyListCmd) Run(ctx context.Context, std streams, r *remote) error {
	order, err := c.order(ctx, r)
	if err != nil {
		return err
	}
	return r.list(ctx, c.Limit, "/v1/orders/"+url.PathEscape(order)+"/"+c.Kind+"/history", c.params(), c.writer(std, fileFields[c.Kind]))
}

type historyDownloadCmd struct {
	historyFlags
	Latest bool   `help:"Take the newest if several match." env:"-"`
	Output string `short:"o" help:"File to write; - is standard output. Default: the server's name for it, in this folder; an existing file is not replaced." env:"-" placeholder:"FILE"`
}

func (c *historyDownloadCmd) Run(ctx context.Context, std streams, log *slog.Logger, r *remote) error {
	params := c.params()
	if c.Latest {
		params.Set("latest", "true")
	}
	order, err := c.order(ctx, r)
	if err != nil {
		return err
	}
	file, err := r.Download(ctx, c.Kind, order, params)
	if client.Invalid(err) { // the error names the API's parameters
		flags := "--name, --export-name, --from, --to, --latest" // that select one of several files
		if c.Kind == "imports" {
			flags = "--name, --from, --to, --latest"
		}
		return fmt.Errorf("%w Here: %s", err, flags)
	}
	if err != nil {
		return r.explain(err)
	}
	defer file.Close() //nolint:errcheck // read to its end
	var from io.Reader = file
	if isTerminal(std.err) {
		show := newProgress(std.err, log, file.Name, max(file.Size, 0))
		defer show.end()
		from = &progressReader{file, show, 0}
	}
	name := c.Output
	switch {
	case name == "-":
		if _, err := io.Copy(std.out, from); err != nil {
			return errors.Join(errIncomplete, r.explain(err))
		}
		return nil
	case name == "":
		name = file.Name
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s exists already; name a file by --output", name)
		}
	}
	size, err := save(from, name)
	if err != nil {
		return r.explain(err)
	}
	fmt.Fprintf(std.err, "%s in %s.\n", plural(size, "byte"), name)
	return nil
}

// save writes a file that gets its name only when it is complete.
func save(from io.Reader, name string) (size int64, err error) {
	out, err := createOutput(name)
	if err != nil {
		return 0, err
	}
	if size, err = io.Copy(out, from); err != nil {
		return size, errors.Join(err, out.discard())
	}
	return size, out.complete()
}

type progressReader struct {
	io.Reader
	show *progress
	n    int64
}

func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	r.show.at(r.n)
	return n, err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"preismon/query"
)

type windowsCmd struct {
	remoteFlags
	tableFlag
	scopeFlags
	CapturedFrom instant `aliases:"from" help:"When the first window begins: RFC 3339, a date, or like now-7d. Also --from." env:"-" placeholder:"TIME"`
	CapturedTo   instant `aliases:"to" help:"When the last window ends; default: the current one. Also --to." env:"-" placeholder:"TIME"`
	Bucket       string  `help:"How long a window is: hour, day or week. Default: day." enum:",hour,day,week" default:"" env:"-" placeholder:"TIME"`
	Since        string  `help:"Token of an earlier answer: only windows whose rows may have changed. No selectors may be given with it." env:"-" placeholder:"TOKEN"`
}

func (c *windowsCmd) Run(ctx context.Context, std streams) error {
	p := parametersOf(*c)
	p.Del("since")
	if c.Since != "" && len(p) > 0 {
		return faulty(errors.New("since: the token contains the selectors, the window and the bucket; leave them out"))
	}
	out, err := c.writer(std, []string{"capturedFrom", "capturedTo", "state", "rows", "digest"}, query.RecordColumns[query.WindowRecord]())
	if err != nil {
		return err
	}
	r, err := c.connect(std)
	if err != nil {
		return err
	}
	found, err := r.Windows(ctx, c.Since, p)
	if err != nil {
		return r.explain(err)
	}
	for _, w := range found.Data {
		row, err := json.Marshal(w)
		if err != nil {
			return err
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "Continue with: preismon windows --since %s\n", found.Query.Token)
	return nil
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"preismon/ingest/maps"
)

// guessed returns the mapping of files that came without one: a guess from the
// first file, written to the working directory for the next time, or the mapping
// written by an earlier run. It shows how the first rows are understood. The
// other files must have the same columns.
func guessed(files []importFile, mandate string, std streams) (*maps.Mapping, error) {
	file := files[0]
	name := maps.Series(file.Path) + ".yaml"
	m, err := rememberedMapping(name, file, mandate, std)
	if err != nil {
		return nil, err
	}
	if m == nil {
		g, err := maps.GuessMapping(file.Path, mandate, time.Now())
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, g.Text, 0o644); err != nil {
			return nil, fmt.Errorf("write the mapping: %w", err)
		}
		m = g.Mapping
		printShown(std, g.Rows)
		for _, d := range g.Assumptions {
			fmt.Fprintf(std.err, "? %s\n", d)
		}
		fmt.Fprintf(std.err, "\nThis is written to %s. Where it is wrong, edit that file and run the same command again.\n", name)
	}
	for _, other := range files[1:] {
		if _, err := maps.Preview(other.Path, other.Mapping(m.For(mandate)), time.Now()); err != nil {
			return nil, fmt.Errorf("%s cannot be read in the same way as %s: %w; import it separately", other.Name, file.Name, err)
		}
	}
	return m, nil
}

// rememberedMapping returns the mapping that an earlier run wrote; nil: there is none.
func rememberedMapping(name string, file importFile, mandate string, std streams) (*maps.Mapping, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	m, err := maps.ParseMapping(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	rows, err := maps.Preview(file.Path, file.Mapping(m.For(mandate)), time.Now())
	if err != nil {
		return nil, fmt.Errorf("read with %s, which already existed: %w", name, err)
	}
	fmt.Fprintf(std.err, "%s already exists, and is used.\n\n", name)
	printShown(std, rows)
	return m, nil
}

// printShown prints rows as they are understood.
func printShown(std streams, rows []maps.Shown) {
	w := tabwriter.NewWriter(std.err, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "line\tsite\tproduct\tcaptured\tprice\toutcome\tmerchant")
	for _, r := range rows {
		if r.Reject != "" {
			fmt.Fprintf(w, "%d\trejected: %s\n", r.Line, r.Reject)
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Line, r.Site, short(r.Product, 32), r.CapturedAt, strings.TrimSpace(r.Price+" "+r.Currency), r.Outcome, short(r.Merchant, 24))
	}
	_ = w.Flush()
	fmt.Fprintln(std.err)
}

// short cuts a text to at most limit characters.
func short(s string, limit int) string {
	if r := []rune(printable(s, "")); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return printable(s, "")
}

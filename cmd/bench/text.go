package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the result for a person: ratios first.
func (r *Result) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n%s\n%.0f s%s\n\n", r.Machine, r.DataSet, r.Seconds, map[bool]string{true: ", --quick"}[r.Quick])
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tVALUE\tSPREAD\tTARGET\t\tWHAT")
	for _, x := range r.Ratios {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\t%s\n", x.Key, number(x.Value), x.Unit, x.spread(), x.target(), x.verdict(), x.What)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, table := range r.Tables {
		fmt.Fprintf(w, "\n%s\n", table.Title)
		if table.Note != "" {
			fmt.Fprintf(w, "  %s\n", table.Note)
		}
		t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
		for _, s := range table.Series {
			more := ""
			if len(s.Seconds) == 0 {
				fmt.Fprintf(t, "  %s\t%s rows\t%.1f MB\t%s\n", s.Name, grouped(s.Rows), float64(s.Bytes)/1e6, s.Note)
				continue
			}
			if s.Rows > 0 {
				more = fmt.Sprintf("%s rows\t%s rows/s", grouped(s.Rows), grouped(int64(s.Rate())))
			}
			if s.Bytes > 0 {
				more += fmt.Sprintf("\t%.1f MB", float64(s.Bytes)/1e6)
			}
			fmt.Fprintf(t, "  %s\t%s\t%s – %s\t%s\t%s\n", s.Name, milliseconds(s.Median()), milliseconds(s.Least()), milliseconds(s.Greatest()), more, strings.TrimSpace(s.Note+" "+s.CPU.note()))
		}
		for _, k := range table.Work {
			if k.Written > 0 || k.Seconds > 0 {
				fmt.Fprintf(t, "  %s\t%d statements\t%s rows written\tCPU %.2f s\tserver time %.2f s\n", k.Name, k.Queries, grouped(int64(k.Written)), k.CPU, k.Seconds)
				continue
			}
			fmt.Fprintf(t, "  %s\tread_rows %s\tread_bytes %s\tmarks %s\t%d statements, %d ended early, CPU %.2f s\n", k.Name,
				grouped(int64(k.ReadRows)), grouped(int64(k.ReadBytes)), grouped(int64(k.Marks)), k.Queries, k.Failed, k.CPU)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(w, "\nNot measured: %s.\n", strings.Join(r.Missing, "; "))
	}
	return nil
}

// WriteMarkdown writes the values that have a target, or a key in published, as
// the table of deploy/docs/reference/figures.md.
func (r *Result) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", r.Began.Format("2006-01-02"), r.Machine)
	if r.Quick {
		b.WriteString(", `--quick`")
	}
	fmt.Fprintf(&b, ". Data: %s.\n\n| what | measured | spread | target | |\n|---|---|---|---|---|\n", r.DataSet)
	for _, x := range r.Ratios {
		if x.Target == 0 && !published[x.Key] {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s | %s | %s |\n", x.What, number(x.Value), x.Unit, x.spread(), x.target(), x.verdict())
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "\nNot measured: %s.\n", strings.Join(r.Missing, "; "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// published are the keys that a result always has, whatever else is added.
var published = map[string]bool{
	"stream_vs_clickhouse_json": true, "page_vs_clickhouse_http": true, "page_beside_100x": true, "drain_vs_direct_insert": true,
	"publish_vs_bare_publish": true, "publish_to_visible_p99_seconds": true, "stream_peak_rss_mib": true, "observations_bytes_per_row": true,
	"ready_seconds_warm": true,
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// exportForms are the formats of `preismon export`, with the media types that a
// plain client asks for to get the same file.
var exportForms = []struct{ key, accept string }{
	{"ndjson", "application/x-ndjson"},
	{"csv", "text/csv"},
	{"arrow", "application/vnd.apache.arrow.stream"},
	{"parquet", "application/vnd.apache.parquet"},
}

// measureExport compares the command with curl, each of which writes a file.
func (r *run) measureExport(ctx context.Context) {
	if _, err := exec.LookPath("curl"); err != nil {
		r.result.miss("export: there is no curl")
		return
	}
	const mandate = 1
	token, err := r.world.token(1000 + mandate)
	if r.failed(err) {
		return
	}
	server := r.world.nodes[r.world.database].url
	query := r.exported(r.data.starts[tableRows])
	t := r.table("Export to a file, export fields", "curl keeps what it gets, uncompressed; ours can go on after a break, and says how many rows there are.")
	for _, f := range exportForms {
		of := r.streams(mandate, query, as(f.accept))(ctx)
		series := r.compare(ctx, t, 1, r.size.streamRounds,
			contestant{"preismon export, " + f.key, func(ctx context.Context) done {
				return r.exportTo(ctx, filepath.Join(r.folder, "ours."+f.key), server, token, f.key, query)
			}},
			contestant{"curl, " + f.key, func(ctx context.Context) done {
				name := filepath.Join(r.folder, "curl."+f.key)
				r.said(exec.CommandContext(ctx, "curl", "--silent", "--show-error", "--fail", "--output", name, //nolint:gosec // the arguments are ours
					"--header", "Accept: "+f.accept, "--header", "Authorization: Bearer "+token, server+"/v1/results/stream?"+query.Encode()))
				return r.written(name, of.rows)
			}},
		)
		if series[0].Rows != of.rows {
			r.failed(fmt.Errorf("%s: ours wrote %d rows of %d", f.key, series[0].Rows, of.rows))
		}
		r.put("export_vs_curl_"+f.key, "`preismon export` as "+f.key+", export fields: time against curl's", "×", slower(series[0], series[1]), 1.2, true, "")
	}
}

// exportTo runs the command.
func (r *run) exportTo(ctx context.Context, name, server, token, form string, query url.Values) done {
	cmd := exec.CommandContext(ctx, r.Program, "export", "--url", server, "--format", form, "--output", name, "--include", "export-fields",
		"--global-scope", "--captured-from", query.Get("capturedFrom"), "--captured-to", query.Get("capturedTo"))
	cmd.Env = append(os.Environ(), "PREISMON_TOKEN="+token)
	text := r.said(cmd)
	number, _, _ := strings.Cut(text, " row")
	var rows int64
	if _, err := fmt.Sscan(strings.ReplaceAll(number, ",", ""), &rows); err != nil {
		r.failed(fmt.Errorf("the export said %q: %w", text, err))
	}
	return r.written(name, rows)
}

// said runs a command and returns what it wrote.
func (r *run) said(cmd *exec.Cmd) string {
	text, err := cmd.CombinedOutput()
	if err != nil {
		r.failed(fmt.Errorf("%w: %s", err, text))
	}
	return string(text)
}

// written returns what a contestant has done: rows in a file.
func (r *run) written(name string, rows int64) done {
	info, err := os.Stat(name)
	if r.failed(err) {
		return done{}
	}
	return done{rows: rows, bytes: info.Size()}
}

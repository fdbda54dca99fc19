package main

import (
	"context"
	"errors"
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
		of, err := r.streams(mandate, query, as(f.accept))(ctx)
		if r.failed(err) {
			return
		}
		series := r.compare(ctx, t, 1, r.size.streamRounds,
			contestant{"preismon export, " + f.key, func(ctx context.Context) (done, error) {
				return exportTo(ctx, filepath.Join(r.folder, "ours."+f.key), r.Program, server, token, f.key, query)
			}},
			contestant{"curl, " + f.key, func(ctx context.Context) (done, error) {
				name := filepath.Join(r.folder, "curl."+f.key)
				_, err := said(exec.CommandContext(ctx, "curl", "--silent", "--show-error", "--fail", "--output", name, //nolint:gosec // the arguments are ours
					"--header", "Accept: "+f.accept, "--header", "Authorization: Bearer "+token, server+"/v1/results/stream?"+query.Encode()))
				return written(name, of.rows, err)
			}},
		)
		if r.err == nil && series[0].Rows != of.rows {
			r.err = fmt.Errorf("%s: ours wrote %d rows of %d", f.key, series[0].Rows, of.rows)
		}
		r.put("export_vs_curl_"+f.key, "`preismon export` as "+f.key+", export fields: time against curl's", "×", slower(series[0], series[1]), 1.2, true, "")
	}
}

// exportTo runs the command.
func exportTo(ctx context.Context, name, program, server, token, form string, query url.Values) (done, error) {
	cmd := exec.CommandContext(ctx, program, "export", "--url", server, "--format", form, "--output", name, "--include", "export-fields",
		"--global-scope", "--captured-from", query.Get("capturedFrom"), "--captured-to", query.Get("capturedTo"))
	cmd.Env = append(os.Environ(), "PREISMON_TOKEN="+token)
	text, err := said(cmd)
	if err != nil {
		return done{}, err
	}
	number, _, _ := strings.Cut(text, " row")
	var rows int64
	if _, err := fmt.Sscan(strings.ReplaceAll(number, ",", ""), &rows); err != nil {
		return done{}, fmt.Errorf("the export said %q: %w", text, err)
	}
	return written(name, rows, nil)
}

// said runs a command and returns what it wrote to its standard error.
func said(cmd *exec.Cmd) (string, error) {
	var text strings.Builder
	cmd.Stderr = &text
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text.String())
	}
	return text.String(), nil
}

// written returns what a contestant has done: rows in a file.
func written(name string, rows int64, err error) (done, error) {
	info, statErr := os.Stat(name)
	if err = errors.Join(err, statErr); err != nil {
		return done{}, err
	}
	return done{rows: rows, bytes: info.Size()}, nil
}

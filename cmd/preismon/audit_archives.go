package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/projector"
	"preismon/projector/clickhouse"
)

// artifactsFolder is the archive that every data directory has.
const artifactsFolder = "artifacts"

// archivesAudit is how the archives compare with the catalogue.
type archivesAudit struct {
	At       time.Time        `json:"at"`
	Seconds  float64          `json:"seconds"`
	Archives []string         `json:"archives"`
	Files    uint64           `json:"files"` // of the catalogue
	Bytes    uint64           `json:"bytes"` // of these files, each counted once
	Findings []archiveFinding `json:"findings"`
}

// archiveFinding is a copy that differs from the catalogue.
type archiveFinding struct {
	What     string `json:"what"`    // missing, damaged or unreadable
	Archive  string `json:"archive"` // as in archivesAudit.Archives
	Key      string `json:"key"`     // in the archive
	Filename string `json:"filename"`
	Mandate  string `json:"mandate"`
	Order    string `json:"order"`
	Good     int    `json:"good"` // archives with a good copy
	Repaired bool   `json:"repaired"`
	Text     string `json:"text"` // the same in words
}

// files returns where the tables and the archives are.
func (c *auditCmd) files() (ch clickhouse.Config, locations []archiveLocation, err error) {
	var content, archives contracts.Faults
	content.Check(!c.Content, "content: cannot be combined with archives")
	switch {
	case c.Site.DataDir == "" && c.Site.ClickHouse.Secret == "":
		err = errors.New("data-dir, or clickhouse-dsn: missing")
	case c.Site.DataDir == "":
		ch, err = parseDSN(c.Site.ClickHouse.Secret)
	case c.Site.ClickHouse.Secret != "" || c.Site.NATS.URL.Secret != "":
		err = errNotBoth
	default:
		_, ch, err = c.Site.config("audit", nil)
		locations = append(locations, archiveLocation{dir: filepath.Join(c.Site.DataDir, artifactsFolder)})
	}
	for i, place := range c.Archive {
		p, wrong := parseArchive(place.Secret)
		archives.Under(fmt.Sprintf("archive %d", i+1), wrong)
		again := slices.ContainsFunc(locations, func(o archiveLocation) bool { return o.String() == p.String() })
		archives.Check(wrong != nil || !again, "archive %d: named twice", i+1)
		locations = append(locations, p)
	}
	archives.Check(len(locations) > 0, "archive: missing")
	return ch, locations, errors.Join(content.Err(), err, archives.Err())
}

// runArchives compares the archives with the catalogue.
func (c *auditCmd) runArchives(ctx context.Context, ch clickhouse.Config, locations []archiveLocation, std streams, log *slog.Logger) error {
	pool := clickhouse.Open(ch, 1)
	defer pool.Close() //nolint:errcheck // nothing is left to say
	a := archivesAudit{At: time.Now().UTC(), Findings: []archiveFinding{}}
	var stores []archive.Location
	for i, p := range locations {
		opened, err := p.open()
		if err != nil {
			return fmt.Errorf("archive %d: %w", i+1, err)
		}
		defer opened.Close() //nolint:errcheck // nothing is left to say
		if err := readable(ctx, opened); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		stores = append(stores, archive.Location{Name: p.String(), Store: opened})
		a.Archives = append(a.Archives, p.String())
	}
	catalogue := projector.ArchivedFiles{Conn: pool, StatementTimeout: c.Timeout}
	var err error
	if a.Files, a.Bytes, err = catalogue.Total(ctx); err != nil {
		return err
	}
	show := newProgress(std.err, log, "hashing bytes of archived files", int64(a.Bytes)*int64(len(stores)))
	names := map[archive.Key]string{} // of the files being read
	err = archive.Audit(ctx, archive.AuditRequest{
		Locations: stores, Refs: refsOf(catalogue.All(ctx), names), Repair: c.Repair,
		Read: func(n int64) { clear(names); show.at(n) },
		Found: func(f archive.Finding) error {
			is := archiveFinding{
				What: f.What, Archive: a.Archives[f.Location], Key: f.Ref.Key.String(), Filename: names[f.Ref.Key],
				Mandate: f.Ref.Key.Mandate.String(), Order: f.Ref.Key.Order.String(), Good: f.Good, Repaired: f.Repaired,
			}
			is.Text = is.words(f)
			a.Findings = append(a.Findings, is)
			return nil
		},
	})
	show.end()
	a.Seconds = time.Since(a.At).Seconds()
	if c.JSON && err == nil {
		err = json.NewEncoder(std.out).Encode(a)
	} else if !c.JSON { // also what was found before it failed
		err = errors.Join(err, a.write(std.out, c.Repair, err == nil))
	}
	if err == nil && slices.ContainsFunc(a.Findings, func(f archiveFinding) bool { return !f.Repaired }) {
		return errFound
	}
	return err
}

// refsOf returns the files as the archives know them, and records their names.
func refsOf(files iter.Seq2[projector.ArchivedFile, error], names map[archive.Key]string) iter.Seq2[archive.Ref, error] {
	return func(yield func(archive.Ref, error) bool) {
		for f, err := range files {
			ref := archive.Ref{
				Key:  archive.Key{Folder: archive.Exports, Mandate: f.Mandate, Order: f.Order, Archive: f.Archive, File: f.File},
				Size: f.SizeBytes, SHA256: f.SHA256,
			}
			if f.Import {
				ref.Key.Folder = archive.Imports
			}
			names[ref.Key] = f.Filename
			if !yield(ref, err) {
				return
			}
		}
	}
}

// words describes the finding for an operator.
func (f archiveFinding) words(of archive.Finding) string {
	where := fmt.Sprintf("%s (%q) of mandate %s, order %s", f.Key, f.Filename, f.Mandate, f.Order)
	text := map[string]string{
		archive.Missing:    fmt.Sprintf("%s lacks %s", f.Archive, where),
		archive.Damaged:    fmt.Sprintf("%s holds a damaged %s", f.Archive, where),
		archive.Unreadable: fmt.Sprintf("%s does not give %s: %v", f.Archive, where, of.Err),
	}[f.What]
	switch {
	case f.Repaired:
		return text + "; repaired from a good copy"
	case of.Repair != nil:
		return fmt.Sprintf("%s; repairing it failed: %v", text, of.Repair)
	case f.Good == 0:
		return text + "; no archive has a good copy"
	}
	return text
}

// write prints the audit for people.
func (a *archivesAudit) write(w io.Writer, repair, whole bool) error {
	var b strings.Builder
	repaired := 0
	for _, f := range a.Findings {
		if f.Repaired {
			repaired++
		}
	}
	if whole {
		fmt.Fprintf(&b, "Read in %.1f s: %s of the catalogue with %s, in each of %s.\n",
			a.Seconds, plural(a.Files, "file"), plural(a.Bytes, "byte"), strings.Join(a.Archives, ", "))
	} else {
		b.WriteString("It did not come to its end.\n")
	}
	switch {
	case len(a.Findings) == 0 && whole:
		b.WriteString("No copy is missing or damaged.\n")
	case len(a.Findings) > 0:
		b.WriteString("What is wrong:\n")
	}
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "  - %s\n", f.Text)
	}
	mendable := slices.ContainsFunc(a.Findings, func(f archiveFinding) bool { return f.Good > 0 })
	switch {
	case repair && len(a.Findings) > 0:
		fmt.Fprintf(&b, "%d of %d repaired, each read again.\n", repaired, len(a.Findings))
	case mendable:
		b.WriteString("With --repair a good copy takes the place of each that is not.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

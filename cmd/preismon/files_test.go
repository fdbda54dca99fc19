package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest/market"
)

// fileEntry is an archived file as a caller sees it.
type fileEntry struct {
	Name        string    `json:"name"`
	ExportName  string    `json:"exportName"`
	Filename    string    `json:"filename"`
	ContentType string    `json:"contentType"`
	SizeBytes   int64     `json:"sizeBytes"`
	ArchivedAt  time.Time `json:"archivedAt"`
}

// wantFiles compares everything that a caller sees of the files of a mandate
// with the market: the history of each order, and each byte of every third file;
// a content that is in no archive returns 409 (HIST-K1, EXP-04a, IMP-04a,
// HIST-06).
func wantFiles(t *testing.T, c *api, m *market.Market, mandate contracts.MandateID) (files, lost int) {
	t.Helper()
	contents := map[contracts.ArchiveID]map[int][]byte{}
	for ref, content := range m.Artifacts() {
		if contents[ref.ArchiveID] == nil {
			contents[ref.ArchiveID] = map[int][]byte{}
		}
		contents[ref.ArchiveID][ref.Index] = content
	}
	want := map[string]map[string][]byte{} // by route, by name and time; nil: missing
	for e := range m.Catalog() {
		switch d := e.Data.(type) {
		case *contracts.Order:
			if d.MandateID == mandate {
				for _, direction := range []string{"exports", "imports"} {
					want["/v1/orders/"+d.OrderID.String()+"/"+direction] = map[string][]byte{}
				}
			}
		case *contracts.FileArchive:
			if d.MandateID != mandate {
				continue
			}
			direction := map[event.Kind]string{event.KindExportArchive: "exports", event.KindImportArchive: "imports"}[e.Kind]
			for i, f := range d.Files {
				want["/v1/orders/"+d.OrderID.String()+"/"+direction][f.Name+f.Filename+d.ArchivedAt.UTC().Format(time.RFC3339)] = contents[d.ArchiveID][i]
			}
		}
	}
	for route, due := range want {
		seen := map[string]bool{}
		params := url.Values{"limit": {"7"}}
		for {
			status, body := c.get(route+"/history", params)
			var page struct {
				Data   []fileEntry
				Paging struct{ NextCursor string }
			}
			if err := json.Unmarshal(body, &page); status != http.StatusOK || err != nil {
				t.Fatalf("%s: %d %s %v", route, status, body, err)
			}
			for _, entry := range page.Data {
				key := entry.Name + entry.Filename + entry.ArchivedAt.UTC().Format(time.RFC3339)
				content, ok := due[key]
				if !ok || seen[key] {
					t.Errorf("%s shows %+v", route, entry)
					continue
				}
				seen[key] = true
				if content == nil {
					lost++
				}
				if files%3 == 0 || content == nil {
					wantFile(t, c, route, entry, content)
				}
				files++
			}
			if page.Paging.NextCursor == "" {
				break
			}
			params.Set("cursor", page.Paging.NextCursor)
		}
		if len(seen) != len(due) {
			t.Errorf("%s shows %d files, want %d", route, len(seen), len(due))
		}
	}
	return files, lost
}

func wantFile(t *testing.T, c *api, route string, entry fileEntry, content []byte) {
	t.Helper()
	at := entry.ArchivedAt.Format(time.RFC3339Nano)
	params := url.Values{"name": {entry.Name}, "dateFrom": {at}, "dateTo": {at}}
	if entry.ExportName != "" {
		params.Set("exportName", entry.ExportName)
	}
	resp := must.Get(c.request(route+"/history/download", params))(t)
	defer resp.Body.Close() //nolint:errcheck // read to its end
	var got bytes.Buffer
	must.Get(got.ReadFrom(resp.Body))(t)
	if content == nil {
		if resp.StatusCode != http.StatusConflict || !strings.Contains(got.String(), "HISTORY_ARTIFACT_CONTENT_MISSING") {
			t.Errorf("%s %+v: %d %.300s", route, entry, resp.StatusCode, got.String())
		}
		return
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(got.Bytes(), content) || entry.SizeBytes != int64(len(content)) {
		t.Errorf("%s %+v: %d, %d bytes, want %d", route, entry, resp.StatusCode, got.Len(), len(content))
	}
	kind := map[string]string{
		".csv": "text/csv; charset=utf-8", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".zip": "application/zip",
	}[path.Ext(entry.Filename)]
	if kind == "" {
		kind = "application/octet-stream"
	}
	if got := resp.Header.Get("Content-Type"); got != kind || entry.ContentType != kind {
		t.Errorf("%s: %s and %s, want %s", entry.Filename, got, entry.ContentType, kind)
	}
	if !strings.Contains(resp.Header.Get("Content-Disposition"), entry.Filename) {
		t.Errorf("%s: %s", entry.Filename, resp.Header.Get("Content-Disposition"))
	}
}

// files: each account gets the files of its orders, and no others.
func (d *demoTest) files(t *testing.T) {
	world := catalogOf(d.market)
	for name, wantLost := range map[string]bool{"anna": false, "dora": false, "frida": true, "hanna": false} {
		a := d.account(t, name)
		mandate := world.accounts[a.LoginIdentifier].MandateID
		files, lost := wantFiles(t, d.client(t, name), d.market, mandate)
		if t.Logf("%s: %d files, %d of them lost", name, files, lost); files == 0 || (lost > 0) != wantLost { // at this small scale, hanna's package is as large as her order
			t.Errorf("%s: %d files, %d of them lost", name, files, lost)
		}
	}
	anna, bert, clara, emil := d.client(t, "anna"), d.client(t, "bert"), d.client(t, "clara"), d.client(t, "emil")
	orders := world.orders[world.accounts[d.account(t, "bert").LoginIdentifier].MandateID]
	allowed := world.accounts[d.account(t, "bert").LoginIdentifier].Scope.Orders
	for _, o := range orders {
		route := fmt.Sprintf("/v1/orders/%s/exports", o.OrderID)
		want := http.StatusNotFound
		if o.OrderID == allowed[0] {
			want = http.StatusOK
		}
		if status, body := bert.get(route, nil); status != want {
			t.Errorf("bert %s: %d %s", route, status, body)
		}
		_, listed := anna.get(route, nil)
		var page struct {
			Data []struct {
				ExportName     string
				LastArchivedAt *time.Time
			}
		}
		must.Do(t, json.Unmarshal(listed, &page))
		names := map[string]bool{}
		for _, e := range page.Data {
			names[e.ExportName] = e.LastArchivedAt != nil
		}
		due := map[string]map[string]bool{
			"elektronik-kern": {"Preisexport täglich (CSV)": true, "Preisexport wöchentlich (Excel)": true}, "buybox": {"Buy-Box-Paket": true}, "weihnachten-2023": {}, "fruehjahr": {},
		}[o.Alias]
		equals.Checkf(t, due, names, "%s", o.Alias)
		for c, want := range map[*api]int{clara: http.StatusOK, emil: http.StatusForbidden} { // one with some sites only, one without permission
			if status, body := c.get(route, nil); status != want {
				t.Errorf("%s: %d, want %d: %s", route, status, want, body)
			}
		}
	}
}

// bucketURL returns a bucket as a value of --archive, and the bucket, which is
// created or must be.
func bucketURL(t *testing.T, create bool) (string, archive.Store) {
	t.Helper()
	server := testserver.S3(t)
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.Bucket, cfg.CreateBucket = "http://"+server.Endpoint, server.Bucket, true
	cfg.AccessKey, cfg.SecretKey = server.AccessKey, contracts.Secret(server.SecretKey)
	s3 := must.Get(archive.NewS3(cfg))(t)
	t.Cleanup(func() { _ = s3.Close() })
	if create {
		must.Do(t, s3.EnsureBucket(t.Context()))
	}
	u := url.URL{Scheme: "s3", User: url.UserPassword(server.AccessKey, server.SecretKey), Host: server.Endpoint, Path: "/" + server.Bucket, RawQuery: "tls=false"}
	return u.String(), s3
}

// putFiles puts the files of the market into the archives in turn.
func putFiles(t *testing.T, m *market.Market, archives ...archive.Store) {
	t.Helper()
	n := 0
	for ref, content := range m.Artifacts() {
		key := archive.Key{Folder: archive.Exports, Mandate: ref.MandateID, Order: ref.OrderID, Archive: ref.ArchiveID, File: ref.Index}
		if ref.Import {
			key.Folder = archive.Imports
		}
		must.Do(t, archives[n%len(archives)].Put(t.Context(), archive.RefOf(key, content), bytes.NewReader(content)))
		n++
	}
}

// TestArchiveLocations: which values --archive accepts and refuses, and that it
// prints no secret.
func TestArchiveLocations(t *testing.T) {
	t.Parallel()
	for text, want := range map[contracts.Secret]archiveLocation{
		"/srv/artifacts": {dir: "/srv/artifacts"},
		"s3://KEY:SECR%2FET%2C@s3.example.com/files":                         {s3: s3Config("https://s3.example.com", "us-east-1", "KEY", "SECR/ET,")},
		"s3://KEY:SECRET@10.0.0.7:9000/files/?region=eu-central-1&tls=false": {s3: s3Config("http://10.0.0.7:9000", "eu-central-1", "KEY", "SECRET")},
	} {
		got, err := parseArchive(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(archiveLocation{})); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text.Reveal(), err, diff)
		}
	}
	for _, wrong := range []string{
		"s3:", "s3://", "s3://h/b", "s3://KEY@h/b", "s3://KEY:hidden@h", "s3://KEY:hidden@h/UPPER", "s3://KEY:hidden@h/b/c",
		"s3://KEY:hidden@h/bucket?tls=perhaps", "s3://KEY:hidden@h/bucket?colour=red", "s3://KEY:hid/den@h/bucket", "s3://KEY:hidden%@h/bucket",
		"S3://KEY:hidden@h/bucket", "https://KEY:hidden@h/bucket",
	} {
		_, errs, code := inProcess(t, "up", "--check", "--archive", t.TempDir(), "--archive", wrong)
		if code != exitUsage || !strings.Contains(errs, "archive 2: ") || strings.Contains(errs, "hid") {
			t.Errorf("%s: exit code %d: %s", wrong, code, errs)
		}
	}
	for _, wrong := range []contracts.Secret{"S3://KEY:hidden@h/b/p", "https://KEY:hidden@h/b/p"} {
		if p, err := parseBackupLocation(wrong); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s for a backup: %v, %v", wrong.Reveal(), p, err)
		}
	}
	const place = "s3://KEY:hidden@h/bucket"
	key := file(t, "archive", place+"\n")
	config := file(t, "c.yaml", "archive: ["+place+", /srv/artifacts]\n")
	for _, args := range [][]string{{"--archive", place, "--archive", "/srv/artifacts"}, {"--archive", "@" + key + ",/srv/artifacts"}, {"--config", config}} {
		out, errs, code := inProcess(t, append([]string{"up", "--print-config"}, args...)...)
		if code != 0 || strings.Contains(out+errs, "hidden") || !strings.Contains(out, "archive: [*** ***]\n") || !strings.Contains(out, "archive-download-max-bytes: 268435456\n") {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	out, _, _ := preismon(t, []string{"RUST_API_ARCHIVE_DOWNLOAD_MAX_BYTES=77", "PREISMON_ARCHIVE=" + place}, "query", "--print-config") // LIM-13
	if !strings.Contains(out, "archive-download-max-bytes: 77\n") || !strings.Contains(out, "archive: [***]\n") {
		t.Error(out)
	}
	exits(t, exitUsage, "max download bytes")(preismon(t, []string{"RUST_API_ARCHIVE_DOWNLOAD_MAX_BYTES=0"}, "up", "--check"))
}

func s3Config(endpoint, region, key, secret string) archive.S3Config {
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.Region, cfg.Bucket, cfg.AccessKey, cfg.SecretKey = endpoint, region, "files", key, contracts.Secret(secret)
	return cfg
}

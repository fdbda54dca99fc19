package rest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"testing"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/rest"
)

const (
	mib      = 1 << 20
	download = "exports/history/download"
)

// bucket is a real S3.
func bucket(t testing.TB, through func(endpoint string) string) *archive.S3 {
	t.Helper()
	server := testserver.S3(t)
	cfg := archive.DefaultS3Config()
	cfg.Endpoint, cfg.AccessKey, cfg.SecretKey, cfg.Bucket = "http://"+server.Endpoint, server.AccessKey, contracts.Secret(server.SecretKey), server.Bucket
	cfg.CreateBucket = true
	direct := must.Get(archive.NewS3(cfg))(t)
	must.Do(t, direct.EnsureBucket(t.Context()))
	if through == nil {
		return direct
	}
	cfg.Endpoint = "http://" + through(server.Endpoint)
	s3 := must.Get(archive.NewS3(cfg))(t)
	return s3
}

// only selects a file by its name.
func only(name string) string { return path(orderA, download, "name", name) }

// fetch downloads a file that must exist.
func (w *filesWorld) fetch(p string) answer {
	w.t.Helper()
	a := w.get(p, w.token(reader)).want(w.t, 200)
	return a
}

// EXP-04a, IMP-04a, ART-01, ART-02, ART-03a to ART-03d: the bytes as they were
// archived, in a folder and in S3, with the media type for the name.
func TestDownload(t *testing.T) {
	for kind, a := range map[string]archive.Store{"folder": folder(t), "s3": bucket(t, nil)} {
		t.Run(kind, func(t *testing.T) {
			w := newFilesWorldOn(t, []archive.Store{a})
			w.job(query.Exports, orderA, 11, "Daily")
			n := 0
			for filename, want := range map[string]string{
				"prices.csv":     "text/csv; charset=utf-8", // ART-03a
				"PRICES.CSV":     "text/csv; charset=utf-8",
				"prices.xlsx":    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", // ART-03b
				"prices.zip":     "application/zip",                                                   // ART-03c
				"prices.txt":     "application/octet-stream",                                          // ART-03d
				"prices.json":    "application/octet-stream",
				"prices.html":    "application/octet-stream",
				"prices.csv.gz":  "application/octet-stream",
				"prices":         "application/octet-stream",
				"csv":            "application/octet-stream",
				"a prices.csv ":  "application/octet-stream",
				"two.zip.csv":    "text/csv; charset=utf-8",
				"prices.xls":     "application/octet-stream",
				"empty file.csv": "text/csv; charset=utf-8",
			} {
				if kind == "s3" && filename != "prices.zip" && filename != "empty file.csv" { // a name means the same everywhere
					continue
				}
				n++
				content := []byte(`{"not": "what the name says"}` + strings.Repeat(filename, 500)) // compressible
				if strings.HasPrefix(filename, "empty") {
					content = nil
				}
				for direction, d := range map[string]query.Direction{"exports": query.Exports, "imports": query.Imports} {
					name := fmt.Sprint("file ", n)
					ref := w.publish(d, orderA, 11, "2026-03-01T05:00:00Z", name, filename, content)
					r := w.request("GET", path(orderA, direction+"/history/download", "name", name), w.token(reader), nil)
					r.Header.Set("Accept-Encoding", "gzip, zstd")
					resp := must.Get(w.raw().Do(r))(t)
					got := must.Get(io.ReadAll(resp.Body))(t)
					must.Do(t, resp.Body.Close())
					if resp.StatusCode != 200 || !bytes.Equal(got, content) {
						t.Fatalf("%s: %d, %d bytes, want %d", filename, resp.StatusCode, len(got), len(content))
					}
					sum, _ := hex.DecodeString(ref.SHA256)
					for header, want := range map[string]string{
						"Content-Type": want, "Content-Length": fmt.Sprint(len(content)), "Content-Encoding": "", "Accept-Ranges": "bytes",
						"ETag": `"` + ref.SHA256 + `"`, "Repr-Digest": "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":",
						"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Disposition": rest.ContentDisposition(filename),
					} {
						if got := resp.Header.Get(header); got != want {
							t.Errorf("%s: %s is %q, want %q", filename, header, got, want)
						}
					}
					if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.HasSuffix(csp, "; sandbox") {
						t.Errorf("Content-Security-Policy %q", csp)
					}
					wantQuota(t, answer{resp, got})
				}
			}
		})
	}
}

// ART-01: harmless names unchanged, other names made harmless.
func TestDownloadNames(t *testing.T) {
	for _, c := range []struct{ filename, exact, plain string }{
		{"report.csv", "report.csv", ""},
		{"two words.csv", "two words.csv", ""},
		{`say "hi"; x=1.csv`, `say "hi"; x=1.csv`, ""},
		{"100%41.csv", "100%41.csv", ""},
		{"a'b*c.csv", "a'b*c.csv", ""},
		{"Preisübersicht – März.csv", "Preisübersicht – März.csv", "Preis_bersicht _ M_rz.csv"},
		{"価格.csv", "価格.csv", "__.csv"},
		{"a\tb\x1b[2J\x7f.csv", "a_b_[2J_.csv", ""},
		{"gpj.\u202evsc.csv", "gpj._vsc.csv", ""}, // a change of text direction
		{"a\u2028b\u0085c.csv", "a_b_c.csv", ""},
		{"..hidden.csv", "hidden.csv", ""},
		{" . .csv", "csv", ""},
		{"...", "download", ""},
		{"x\r\nSet-Cookie: a=b.csv", "x__Set-Cookie: a=b.csv", ""}, // no record can hold this name, and it is harmless all the same
		{`..\..\etc/passwd`, `_.._etc_passwd`, ""},
		{strings.Repeat("ü", 127), strings.Repeat("ü", 127), strings.Repeat("_", 127)},
	} {
		header := rest.ContentDisposition(c.filename)
		kind, params, err := mime.ParseMediaType(header)
		if strings.Contains(header, "filename*=") { // the parser does not accept both
			plain, exact, _ := strings.Cut(header, "; filename*=")
			_, params, err = mime.ParseMediaType(plain)
			if params["filename"] != c.plain {
				t.Errorf("%q: the plain name is %q, want %q", c.filename, params["filename"], c.plain)
			}
			name := must.Get(url.PathUnescape(strings.TrimPrefix(exact, "utf-8''")))(t)
			params["filename"] = name
		} else if c.plain != "" {
			t.Errorf("%q: no filename* in %q", c.filename, header)
		}
		if err != nil || kind != "attachment" || params["filename"] != c.exact {
			t.Errorf("%q: %q is %s %q, want %q (%v)", c.filename, header, kind, params["filename"], c.exact, err)
		}
	}
}

// EXP-04b, IMP-04b, HIST-05, HIST-06, LIM-13, ERR-08, ERR-09, ERR-F6, ERR-F7,
// ERR-F9, choices 33, 46.
func TestDownloadRefusals(t *testing.T) {
	const most = 1000
	first, second := folder(t), folder(t)
	w := newFilesWorldOn(t, []archive.Store{first, second}, func(s *settings) { s.query.MaxDownloadBytes = most })
	for direction, d := range map[string]query.Direction{"exports": query.Exports, "imports": query.Imports} {
		get := func(name string) answer {
			return w.get(path(orderA, direction+"/history/download", "name", name), w.token(reader))
		}
		fits, over := bytes.Repeat([]byte("x"), most), bytes.Repeat([]byte("x"), most+1)
		w.publish(d, orderA, 11, "2026-03-01T05:00:00Z", "fits", "fits.csv", fits)
		w.publish(d, orderA, 11, "2026-03-01T05:00:00Z", "over", "over.csv", over)
		if a := get("fits"); a.StatusCode != 200 || !bytes.Equal(a.body, fits) {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		p := get("over").wantProblem(t, 413, "PAYLOAD_TOO_LARGE")
		if p.ActualBytes == nil || *p.ActualBytes != most+1 || p.MaxBytes == nil || *p.MaxBytes != most ||
			!strings.Contains(p.Detail, "1001") || !strings.Contains(p.Detail, "1000") {
			t.Errorf("%+v", p)
		}

		missing := document{d, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "missing", filename: "missing.csv", content: []byte("gone")}}}
		ref := w.add(missing)[0]
		a := get("missing")
		a.wantProblem(t, 409, "HISTORY_ARTIFACT_CONTENT_MISSING")
		for _, header := range []string{"ETag", "Content-Disposition", "Repr-Digest", "Accept-Ranges"} {
			if a.Header.Get(header) != "" {
				t.Errorf("%s on a 409: %v", header, a.Header)
			}
		}
		w.put(second, ref, []byte("gone")) // only in the second archive
		if a := get("missing"); a.StatusCode != 200 || string(a.body) != "gone" {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}

		// Too large and in no archive: the limit is checked first.
		huge := &contracts.ArchivedFile{SizeBytes: 1 << 50, SHA256: strings.Repeat("a", 64)}
		w.add(document{d, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "huge", filename: "h.zip", record: huge}}})
		get("huge").wantProblem(t, 413, "PAYLOAD_TOO_LARGE")
	}
}

// Range and If-Range (RFC 9110, section 14): parts that together are the file.
func TestDownloadRanges(t *testing.T) {
	for kind, a := range map[string]archive.Store{"folder": folder(t), "s3": bucket(t, nil)} {
		t.Run(kind, func(t *testing.T) {
			w := newFilesWorldOn(t, []archive.Store{a})
			content := noise(5000)
			ref := w.publish(query.Exports, orderA, 11, "2026-03-01T05:00:00Z", "f", "f.zip", content)
			w.publish(query.Exports, orderA, 11, "2026-03-01T05:00:00Z", "empty", "e.zip", nil)
			etag := `"` + ref.SHA256 + `"`
			ask := func(name string, header ...string) answer {
				r := w.request("GET", only(name), w.token(reader), nil)
				for i := 0; i < len(header); i += 2 {
					r.Header.Add(header[i], header[i+1])
				}
				return w.do(r)
			}
			for ranges, want := range map[string][2]int{
				"bytes=0-0": {0, 1}, "bytes=0-999": {0, 1000}, "bytes=1000-": {1000, 5000}, "bytes=-1": {4999, 5000}, "bytes=-5000": {0, 5000},
				"bytes=-9999": {0, 5000}, "bytes=4999-": {4999, 5000}, "bytes=4000-99999": {4000, 5000}, "bytes=0-": {0, 5000}, "Bytes=7-8": {7, 9},
			} {
				got := ask("f", "Range", ranges)
				if got.StatusCode != 206 || !bytes.Equal(got.body, content[want[0]:want[1]]) {
					t.Errorf("%s: %d, %d bytes", ranges, got.StatusCode, len(got.body))
				}
				equals.Is(t, fmt.Sprintf("bytes %d-%d/5000", want[0], want[1]-1), got.Header.Get("Content-Range"), "%s: Content-Range", ranges)
				if got.Header.Get("ETag") != etag || got.Header.Get("Content-Type") != "application/zip" || got.ContentLength != int64(len(got.body)) {
					t.Errorf("%s: %v", ranges, got.Header)
				}
			}
			if got := ask("empty", "Range", "bytes=0-"); got.StatusCode != 200 || len(got.body) != 0 {
				t.Errorf("empty: %d", got.StatusCode)
			}
			w.add(document{query.Exports, orderA, 11, "2026-03-01T05:00:00Z", []file{{name: "lost", filename: "l.csv", content: content}}})
			got := ask("lost", "Range", "bytes=5-9")
			got.wantProblem(t, 409, "HISTORY_ARTIFACT_CONTENT_MISSING")
			if got.Header.Get("Content-Range") != "" {
				t.Error(got.Header)
			}
			if kind == "s3" {
				return // conditions are judged before an archive is asked
			}
			for _, whole := range [][]string{
				{"Range", "items=0-1"},
				{"Range", "bytes=0-1,3-4"},
				{"Range", "bytes=0-1", "Range", "bytes=3-4"},
				{"Range", ""},
				{"Range", "bytes=-0"},
				{"Range", "bytes="},
				{"Range", "bytes=0-9", "If-Range", `"other"`},
				{"Range", "bytes=0-9", "If-Range", "W/" + etag},
				{"Range", "bytes=0-9", "If-Range", "Sat, 01 Jan 2022 00:00:00 GMT"},
				{"If-Range", etag},
				{"If-None-Match", `"other"`, "Range", "items=0-1"},
				{"If-None-Match", `"other", "more"`},
				{"If-Match", etag},
				{"If-Match", `"other"`, "If-Match", etag},
				{"If-Match", "*"},
				{"If-Modified-Since", "Sat, 01 Jan 2022 00:00:00 GMT"},
			} {
				if got := ask("f", whole...); got.StatusCode != 200 || !bytes.Equal(got.body, content) {
					t.Errorf("%v: %d, %d bytes", whole, got.StatusCode, len(got.body))
				}
			}
			for _, same := range [][]string{
				{"If-None-Match", etag},
				{"If-None-Match", "W/" + etag},
				{"If-None-Match", "*"},
				{"If-None-Match", `"other"`, "If-None-Match", etag},
				{"If-None-Match", etag, "Range", "bytes=0-9"},
				{"If-None-Match", etag, "If-Match", etag},
			} {
				got := ask("f", same...)
				if got.StatusCode != 304 || len(got.body) != 0 || got.Header.Get("ETag") != etag || got.Header.Get("Content-Disposition") != "" {
					t.Errorf("%v: %d, %d bytes, %v", same, got.StatusCode, len(got.body), got.Header)
				}
				wantQuota(t, got)
			}
			for _, other := range [][]string{
				{"If-Match", `"other"`},
				{"If-Match", "W/" + etag}, // only strong ETags match (RFC 9110, section 13.1.1)
				{"If-Match", `"other"`, "Range", "bytes=0-9"},
				{"If-Match", `"other"`, "If-None-Match", etag},
			} {
				got := ask("f", other...)
				got.wantProblem(t, 412, "PRECONDITION_FAILED")
				if got.Header.Get("ETag") != "" || got.Header.Get("Content-Disposition") != "" {
					t.Errorf("%v: %v", other, got.Header)
				}
			}
			if got := ask("f", "Range", "bytes=10-19", "If-Range", etag); got.StatusCode != 206 || !bytes.Equal(got.body, content[10:20]) {
				t.Errorf("If-Range: %d", got.StatusCode)
			}
			for _, ranges := range []string{"bytes=5000-", "bytes=9000-9001", "bytes=3-2", "bytes=x-", "bytes=--1"} {
				got := ask("f", "Range", ranges)
				got.wantProblem(t, 416, "RANGE_NOT_SATISFIABLE")
				if got.Header.Get("Content-Range") != "bytes */5000" {
					t.Errorf("%s: %v", ranges, got.Header)
				}
				if got.Header.Get("ETag") != "" || got.Header.Get("Content-Disposition") != "" {
					t.Errorf("%s: %v", ranges, got.Header)
				}
			}
		})
	}
}

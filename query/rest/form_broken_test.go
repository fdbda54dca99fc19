package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// TestTablesDoNotHoldRowsBack: the first rows are sent while the store is still
// at work, in the forms that can do so.
func TestTablesDoNotHoldRowsBack(t *testing.T) {
	for _, media := range []string{csvMedia, arrowMedia} {
		for _, coding := range codings {
			s := serve(t)
			next := make(chan struct{})
			s.store.each = func(n int) error {
				if n == 1 {
					<-next
				}
				return nil
			}
			r := s.request("GET", "/v1/results/stream", s.token(reader), nil)
			r.Header.Set("Accept", media)
			r.Header.Set("Accept-Encoding", coding)
			resp := must.Get(s.raw().Do(r))(t)
			body, seen := decoded(t, resp), []byte{}
			for !bytes.Contains(seen, []byte("shop-two")) { // from the second row
				piece := make([]byte, 4096)
				n := must.Get(body.Read(piece))(t)
				seen = append(seen, piece[:n]...)
			}
			close(next)
			must.Get(io.Copy(io.Discard, body))(t)
			resp.Body.Close()
		}
	}
}

// TestTablesAreCompressed: tables are compressed, like JSON, except Parquet,
// which compresses by itself.
func TestTablesAreCompressed(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"/v1/results", "/v1/results/stream"} {
		for _, media := range append(tables, jsonMedia) {
			r := s.request("GET", path+"?includeExportFields=true&includeIdentity=true", s.token(reader), nil)
			r.Header.Set("Accept", media)
			r.Header.Set("Accept-Encoding", "gzip")
			resp := must.Get(s.raw().Do(r))(t)
			must.Get(io.Copy(io.Discard, resp.Body))(t)
			resp.Body.Close()
			if got, dense := resp.Header.Get("Content-Encoding"), media == parquetMedia || strings.Contains(media, "compression"); (got == "gzip") == dense {
				t.Errorf("%s as %s: Content-Encoding %q", path, media, got)
			}
			if media == parquetMedia && path == "/v1/results" && resp.ContentLength <= 0 {
				t.Errorf("%v", resp.Header)
			}
		}
	}
}

// labelled is a store whose items have as much customer data as they may.
type labelled struct{ *memory }

func (l labelled) CustomerData(context.Context, query.Visibility, []contracts.ItemID) (all []contracts.CustomerData, err error) {
	fields := map[string]string{}
	for i := range 100 {
		fields[fmt.Sprintf("field %d", i)] = strings.Repeat("x", 2_000)
	}
	for _, i := range l.items {
		all = append(all, contracts.CustomerData{MandateID: 1, ItemID: i.ItemID, Fields: fields})
	}
	return all, nil
}

// TestTablesAreRefusedEarly: a page that is too large is refused before all of
// it is built, in every form.
func TestTablesAreRefusedEarly(t *testing.T) {
	store := newMemory()
	for len(store.rows) < 2_000 {
		store.rows = append(store.rows, store.rows[:50]...)
	}
	store.blockMax = 2_000
	s := serve(t, func(set *settings) {
		set.store = labelled{store}
		set.rest.MaxResponseBytes, set.query.MaxResponseBytes = 1<<20, 1<<20
	})
	for _, media := range tables {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := s.getAs("/v1/results?includeCustomerData=true&limit=2000", media)
		if a.StatusCode == http.StatusOK && len(a.body) <= 1<<20 { // compressed by itself
			continue
		}
		a.wantProblem(t, http.StatusBadRequest, "RESPONSE_TOO_LARGE")
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 { // all of it takes over 2 GB
			t.Errorf("%s: %d MB for a page that is refused", media, took>>20)
		}
	}
}

// TestTablesHaveTheLimit: a page that is too large is refused in any form, and
// so are other lists (ERR-17a, ERR-17b).
func TestTablesHaveTheLimit(t *testing.T) {
	s := serve(t, func(set *settings) { set.rest.MaxResponseBytes, set.query.MaxResponseBytes = 2000, 1<<20 })
	for _, media := range tables {
		s.getAs("/v1/results?includeExportFields=true&includeIdentity=true", media).wantProblem(t, http.StatusBadRequest, "RESPONSE_TOO_LARGE")
	}
	if a := s.getAs("/v1/results?limit=1", csvMedia); a.StatusCode != 200 {
		t.Error(fmt.Sprint(a.StatusCode), string(a.body))
	}
	s = serve(t, func(set *settings) { set.rest.MaxResponseBytes = 400 })
	for _, path := range []string{"/v1/sites", "/v1/items"} {
		s.get(path, s.token(reader)).wantProblem(t, http.StatusBadRequest, "RESPONSE_TOO_LARGE")
		if a := s.get(path+"?limit=1", s.token(reader)); a.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
}

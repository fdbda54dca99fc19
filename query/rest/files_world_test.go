package rest_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"sync"
	"testing"
	"time"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// Accounts of the world of files, in addition to those of the harness. All but
// the last belong to the mandate of reader.
const (
	oneOrder  contracts.AccountID = 5 // sees orderA only
	someSites contracts.AccountID = 6 // sees some sites only
	noOrder   contracts.AccountID = 7 // sees nothing
	foreigner contracts.AccountID = 8 // everything of another mandate
)

const (
	orderA  contracts.OrderID = 101
	orderB  contracts.OrderID = 102
	foreign contracts.OrderID = 201 // of the other mandate
	missing contracts.OrderID = 999
)

// filesWorld is a live surface with real archives.
type filesWorld struct {
	*live
	archives []archive.Store
	next     contracts.ArchiveID
}

// newFilesWorld serves what the tables and the archives hold; if no archive is
// configured, there is one folder.
func newFilesWorld(t testing.TB, change ...func(*settings)) *filesWorld {
	t.Helper()
	return newFilesWorldOn(t, []archive.Store{folder(t)}, change...)
}

func folder(t testing.TB) archive.Store {
	t.Helper()
	dir := must.Get(archive.NewDir(t.TempDir()))(t)
	t.Cleanup(func() { must.Do(t, dir.Close()) })
	return dir
}

func newFilesWorldOn(t testing.TB, archives []archive.Store, change ...func(*settings)) *filesWorld {
	t.Helper()
	w := (&filesWorld{live: liveDB(t), archives: archives}).of(t, change...)
	const all = "'h', false, false, ['sites','items','orders','results','files']"
	w.exec("INSERT INTO accounts VALUES (1, 1, 'reader', " + all + ", true, [], true, [], 1), (5, 1, 'oneorder', " + all + ", false, [101], true, [], 1), " +
		"(6, 1, 'somesites', " + all + ", true, [], false, ['a.example'], 1), (7, 1, 'noorder', " + all + ", false, [], true, [], 1), " +
		"(8, 2, 'foreigner', " + all + ", true, [], true, [], 1), (2, 1, 'narrow', 'h', false, false, ['sites','items','orders','results'], true, [], true, [], 1)")
	w.exec("INSERT INTO orders (mandate, order_id, alias, name, active, created_at, version) VALUES (1, 101, 'o', 'Order', true, now64(3), 1), (1, 102, 'o', 'Order', true, now64(3), 1), (2, 201, 'o', 'Order', true, now64(3), 1)")
	return w
}

// of returns the world for another test: a separate surface over the same
// tables and archives.
func (w *filesWorld) of(t testing.TB, change ...func(*settings)) *filesWorld {
	t.Helper()
	again, l := *w, *w.live
	again.live = &l
	again.surface = w.node(t, w.db.QueryDSN, append([]func(*settings){func(s *settings) {
		for _, a := range w.archives {
			s.archives = append(s.archives, artifacts{a})
		}
	}}, change...)...)
	return &again
}

func (w *filesWorld) order(mandate contracts.MandateID, id contracts.OrderID) {
	w.t.Helper()
	w.exec("INSERT INTO orders (mandate, order_id, alias, name, active, created_at, version) VALUES (?, ?, 'o', 'Order', true, now64(3), 1)",
		uint64(mandate), uint64(id))
}

func (w *filesWorld) job(d query.Direction, order contracts.OrderID, id contracts.FileJobID, name string) {
	w.t.Helper()
	w.exec("INSERT INTO file_jobs VALUES (?, ?, ?, ?, ?, now64(3), 1)", uint64(mandateOf(order)), string(d), uint64(order), uint64(id), name)
}

func mandateOf(order contracts.OrderID) contracts.MandateID {
	if order == foreign {
		return 2
	}
	return 1
}

// document is an archive document of one job; its files are in the archives
// only when they are put there.
type document struct {
	direction query.Direction // Exports by default
	order     contracts.OrderID
	job       contracts.FileJobID
	at        string // RFC 3339
	files     []file
}

type file struct {
	name, filename string
	content        []byte
	record         *contracts.ArchivedFile // instead of the true record of the content
}

// add writes a document to the catalogue and returns the references of its
// files.
func (w *filesWorld) add(d document) []archive.Ref {
	w.t.Helper()
	w.next++
	d.direction = cmp.Or(d.direction, query.Exports)
	at := must.Get(time.Parse(time.RFC3339Nano, d.at))(w.t)
	key := archive.Key{Folder: folders[d.direction], Mandate: mandateOf(d.order), Order: d.order, Archive: w.next}
	var refs []archive.Ref
	tuples := [][]any{}
	for i, f := range d.files {
		key.File = i
		ref := archive.RefOf(key, f.content)
		if f.record != nil {
			ref.Size, ref.SHA256 = f.record.SizeBytes, f.record.SHA256
		}
		refs = append(refs, ref)
		tuples = append(tuples, []any{f.name, f.filename, ref.Size, ref.SHA256})
	}
	b := must.Get(w.conn.PrepareBatch(context.Background(), "INSERT INTO file_archives (mandate, direction, order_id, archive, file_job, archived_at, files, version)"))(w.t)
	must.Do(w.t, b.Append(uint64(mandateOf(d.order)), string(d.direction), uint64(d.order), uint64(w.next), uint64(d.job), at, tuples, uint64(1)))
	must.Do(w.t, b.Send())
	return refs
}

// put stores content in an archive.
func (w *filesWorld) put(archive archive.Store, ref archive.Ref, content []byte) {
	w.t.Helper()
	must.Do(w.t, archive.Put(context.Background(), ref, bytes.NewReader(content)))
}

// publish adds a document of one file and puts the file in the first archive.
func (w *filesWorld) publish(d query.Direction, order contracts.OrderID, job contracts.FileJobID, at, name, filename string, content []byte) archive.Ref {
	w.t.Helper()
	ref := w.add(document{d, order, job, at, []file{{name: name, filename: filename, content: content}}})[0]
	w.put(w.archives[0], ref, content)
	return ref
}

var folders = map[query.Direction]archive.Folder{query.Exports: archive.Exports, query.Imports: archive.Imports}

// artifacts adapts a store of archives for the service, as the command does.
type artifacts struct{ store archive.Store }

func (a artifacts) Open(ctx context.Context, f query.Artifact, offset int64) (io.ReadCloser, error) {
	ref := archive.Ref{
		Key:  archive.Key{Folder: folders[f.Direction], Mandate: f.Mandate, Order: f.OrderID, Archive: f.Archive, File: f.File},
		Size: f.SizeBytes, SHA256: f.SHA256,
	}
	if offset == 0 {
		return a.store.Open(ctx, ref)
	}
	return a.store.OpenRange(ctx, ref, archive.Range{Offset: offset, Length: f.SizeBytes - offset})
}

// path returns a route under an order; rest begins with "exports" or "imports".
func path(order contracts.OrderID, rest string, args ...string) string {
	p := fmt.Sprintf("/v1/orders/%d/%s", order, rest)
	if len(args) == 0 {
		return p
	}
	values := url.Values{}
	for i := 0; i < len(args); i += 2 {
		values.Add(args[i], args[i+1])
	}
	return p + "?" + values.Encode()
}

// list reads a page that must exist.
func (w *filesWorld) list(order contracts.OrderID, rest string, args ...string) page {
	w.t.Helper()
	a := w.get(path(order, rest, args...), w.token(reader)).want(w.t, 200)
	p := decode[page](w.t, a)
	if p.Paging.Returned != len(p.Data) {
		w.t.Errorf("returned %d, but %d records", p.Paging.Returned, len(p.Data))
	}
	return p
}

// walk follows the cursors of a list to its end and returns one field.
func (w *filesWorld) walk(field string, order contracts.OrderID, rest string, args ...string) (all []string) {
	w.t.Helper()
	for next := []string{}; ; {
		p := w.list(order, rest, append(args[:len(args):len(args)], next...)...)
		all = append(all, keys(p, field)...)
		if p.Paging.NextCursor == "" {
			return all
		}
		next = []string{"cursor", p.Paging.NextCursor}
	}
}

// countedStore counts the reads of orders and their files.
type countedStore struct {
	query.Store
	mu    sync.Mutex
	asked int
}

func (c *countedStore) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
}

func (c *countedStore) Access(ctx context.Context, a contracts.AccountID) (*query.Access, error) {
	c.ask()
	return c.Store.Access(ctx, a)
}

func (c *countedStore) Orders(ctx context.Context, v query.Visibility, q query.OrdersQuery) ([]contracts.Order, error) {
	c.ask()
	return c.Store.Orders(ctx, v, q)
}

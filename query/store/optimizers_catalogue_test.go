package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"preismon/contracts"
	"preismon/query"
	"preismon/query/store"
)

// catalogueReads returns the reads of orders, their pairs and their files for
// one caller.
func catalogueReads(name string, v query.Visibility) map[string]read {
	orders, every := []contracts.OrderID{orderA, orderB}, []contracts.ItemID{1, 2, 3, 4, 5, 6}
	one := func(value any, err error) ([]string, error) { return []string{fmt.Sprintf("%+v", value)}, err }
	all := map[string]read{
		"ItemCandidates": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.ItemCandidates(ctx, v, query.ItemsQuery{EAN: "96385074", Limit: 10}))
		},
		"VisibleItems": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.VisibleItems(ctx, v, every, 4))
		},
		"ItemCandidates: of a category": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.ItemCandidates(ctx, v, query.ItemsQuery{Category: "Category 1", Limit: 10}))
		},
		"Categories": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.Categories(ctx, v, query.CategoriesQuery{Limit: 1_001}))
		},
		"Categories: one": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.Categories(ctx, v, query.CategoriesQuery{Category: "Category 1", Limit: 1}))
		},
		"ASINLocales": func(ctx context.Context, s *store.Store) ([]string, error) { return texts(s.ASINLocales(ctx, v, 257)) },
		"Orders": func(ctx context.Context, s *store.Store) ([]string, error) {
			return records(s.Orders(ctx, v, query.OrdersQuery{Limit: 10}))
		},
		"OrderScope": func(ctx context.Context, s *store.Store) ([]string, error) {
			return one(s.OrderScope(ctx, v, orders, 10_001))
		},
		"OrderSites": func(ctx context.Context, s *store.Store) ([]string, error) {
			sites, err := texts(s.OrderSites(ctx, v, orders, 10_001))
			slices.Sort(sites) // they come in no order
			return sites, err
		},
		"OrderPairs": func(ctx context.Context, s *store.Store) ([]string, error) {
			return records(s.OrderPairs(ctx, v, query.OrderPairsQuery{Orders: orders, Limit: 1000}))
		},
		"CountFilesOf": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.CountFilesOf(ctx, v, orders, 1_001))
		},
		"NewestFiles": func(ctx context.Context, s *store.Store) ([]string, error) {
			return texts(s.NewestFiles(ctx, v, orders, 2, 10_001))
		},
		"SeesWholeOrder": func(ctx context.Context, s *store.Store) ([]string, error) {
			return one(s.SeesWholeOrder(ctx, v, orderA))
		},
		"Memberships": func(ctx context.Context, s *store.Store) ([]string, error) {
			return one(s.Memberships(ctx, v, orders, every))
		},
	}
	for _, direction := range []query.Direction{query.Exports, query.Imports} {
		of := query.FilesOf{Direction: direction, OrderID: orderA}
		for name, ask := range map[string]read{
			"FileJobsThrough": func(ctx context.Context, s *store.Store) ([]string, error) {
				return one(s.FileJobsThrough(ctx, v, query.FileJobsQuery{FilesOf: of}, 2))
			},
			"FileJobs": func(ctx context.Context, s *store.Store) ([]string, error) {
				return texts(s.FileJobs(ctx, v, query.FileJobsQuery{FilesOf: of, Limit: 10}))
			},
			"CountFiles": func(ctx context.Context, s *store.Store) ([]string, error) {
				documents, files, err := s.CountFiles(ctx, v, of, 1001)
				return one([]int{documents, files}, err)
			},
			"FileEntries": func(ctx context.Context, s *store.Store) ([]string, error) {
				return texts(s.FileEntries(ctx, v, query.FileEntriesQuery{FilesOf: of, Limit: 10}))
			},
		} {
			all[fmt.Sprintf("%s: %s", name, direction)] = ask
		}
	}
	named := map[string]read{}
	for question, ask := range all {
		if !slices.Contains([]byte(question), ':') {
			question += ":"
		}
		named[question+" "+name] = ask
	}
	return named
}

// records formats records that contain pointers.
func records[T any](all []T, err error) (out []string, _ error) {
	for _, v := range all {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, err
}

// catalogueRows writes orders and files, in versions, and ids of events, for
// the reads.
func catalogueRows(w *world) {
	for version := 1; version <= 3; version++ {
		for _, order := range []contracts.OrderID{orderA, orderB} {
			w.exec(fmt.Sprintf(`INSERT INTO orders (mandate, order_id, alias, name, active, created_at, interval_minutes, counters, version)
				VALUES (%d, %d, 'alias', 'Order %d', true, '2026-01-01 00:00:00', 60, [('alpha.example', 10, 5, 5)], %d)`, mandateOne, order, version, version))
			for _, direction := range []string{"export", "import"} {
				for job := 1; job <= 4; job++ {
					w.exec(fmt.Sprintf("INSERT INTO file_jobs VALUES (%d, '%s', %d, %d, 'Job %d', '2026-01-01 00:00:00', %d)", mandateOne, direction, order, job, version, version))
					w.exec(fmt.Sprintf("INSERT INTO file_archives VALUES (%d, '%s', %d, %d, %d, '2026-01-0%d 00:00:00', [('a', 'a.csv', %d, ''), ('b', 'b.zip', 2, '')], %d)",
						mandateOne, direction, order, job, job, job, version, version))
				}
			}
		}
	}
	w.exec("INSERT INTO checkpoint_times VALUES (0, 0, 0, 0), (0, ?, ?, '2026-03-01 00:00:00')", uint32(epoch), w.mark/2)
	for seq := uint64(1); seq <= w.mark; seq += 50 {
		w.exec(fmt.Sprintf(`INSERT INTO ingested_events (event_id, epoch, seq, captures, rows)
			SELECT toUUID(format('00000000-0000-4000-8000-{}', leftPad(toString(number), 12, '0'))), %d, number, 1, 1 FROM numbers(%d, 50)`, epoch, seq))
	}
}

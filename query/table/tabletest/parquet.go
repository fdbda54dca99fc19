package tabletest

import (
	"bytes"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"preismon/query"
)

// Sorted returns the columns by which a Parquet file says that its row groups are
// sorted, as a path with - before it for a descending one; empty: it says nothing.
func Sorted(file []byte) (all []string, err error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	for _, g := range f.RowGroups() {
		for _, c := range g.SortingColumns() {
			path := strings.Join(c.Path(), ".")
			if c.Descending() {
				path = "-" + path
			}
			all = append(all, path)
		}
	}
	return all, nil
}

// Parquet reads a file of results; times are written in the zone.
func Parquet(file []byte, zone *time.Location) ([]Record, error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, column := range f.Schema().Fields() {
		names = append(names, column.Name())
	}
	return Columns(file, query.Columns(names), zone)
}

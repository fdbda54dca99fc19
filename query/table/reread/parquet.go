package reread

import (
	"bytes"
	"time"

	"github.com/parquet-go/parquet-go"

	"preismon/query"
)

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

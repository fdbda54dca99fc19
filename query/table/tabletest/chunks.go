package tabletest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"preismon/query/frame"
)

// checkChunks returns an error if a file says something about the values of a
// chunk that is not so: a reader that trusts it leaves rows out. Numbers must have
// bounds, and texts that repeat a dictionary.
func checkChunks(f *parquet.File, columns []frame.Column) error {
	bounded := map[string]bool{} // by the name of the column
	for i := range columns {
		bounded[columns[i].Name] = columns[i].Kind != frame.JSON
	}
	for n, g := range f.RowGroups() {
		for i, c := range g.ColumnChunks() {
			said := f.Metadata().RowGroups[n].Columns[i].MetaData
			if err := checkChunk(c, said, f.Schema().Columns()[i], bounded); err != nil {
				return fmt.Errorf("row group %d, %s: %w", n, strings.Join(said.PathInSchema, "."), err)
			}
		}
	}
	return nil
}

func checkChunk(c parquet.ColumnChunk, said format.ColumnMetaData, path []string, bounded map[string]bool) error {
	values, numbered, err := valuesOf(c)
	if err != nil {
		return err
	}
	if int64(len(values)) != said.NumValues {
		return fmt.Errorf("%d values, and it says %d", len(values), said.NumValues)
	}
	kind, stats := c.Type(), said.Statistics
	var low, high parquet.Value
	within := len(stats.MinValue)+len(stats.MaxValue) > 0 // those of empty texts are like none
	if within {
		low, high = kind.Kind().Value(stats.MinValue), kind.Kind().Value(stats.MaxValue)
	}
	nulls, repeats, long := int64(0), false, false
	nested := strings.Contains(strings.Join(path, "."), ".list.") || strings.Contains(strings.Join(path, "."), ".key_value.")
	seen := map[string]bool{}
	for _, v := range values {
		if v.IsNull() {
			nulls++
			continue
		}
		if within && (kind.Compare(low, v) > 0 || kind.Compare(v, high) > 0) {
			return fmt.Errorf("%v is not within %v and %v", v, low, high)
		}
		text := v.String()
		long = long || len(text) > 64
		repeats = repeats || seen[text]
		seen[text] = true
	}
	if !nested && nulls != stats.NullCount {
		return fmt.Errorf("%d nulls, and it says %d", nulls, stats.NullCount)
	}
	if len(seen) == 0 {
		return nil
	}
	text := kind.Kind() == parquet.ByteArray
	if text && repeats && (said.DictionaryPageOffset == 0 || !numbered) {
		return fmt.Errorf("%d values of %d texts, without a dictionary", len(values), len(seen))
	}
	if _, empty := seen[""]; !within && !(empty && len(seen) == 1) && kind.Kind() != parquet.Boolean && !(text && (long || !numbered || !bounded[path[0]])) {
		return errors.New("it has no bounds")
	}
	return nil
}

// valuesOf returns all values of a chunk. numbered: they are numbers of dictionary
// values, at least at first.
func valuesOf(c parquet.ColumnChunk) (all []parquet.Value, numbered bool, err error) {
	pages := c.Pages()
	defer pages.Close() //nolint:errcheck // nothing is written
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return all, numbered, nil
		}
		if err != nil {
			return nil, false, err
		}
		numbered = numbered || page.Dictionary() != nil
		some := make([]parquet.Value, page.NumValues())
		n, err := page.Values().ReadValues(some)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		for _, v := range some[:n] {
			all = append(all, v.Clone())
		}
		parquet.Release(page)
	}
}

package tabletest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"

	"preismon/query/frame"
)

// Columns reads a Parquet file of records with these columns; times are written
// in the zone. What the file says about its values must be so.
func Columns(file []byte, columns []frame.Column, zone *time.Location) ([]Record, error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	if err := checkChunks(f, columns); err != nil {
		return nil, err
	}
	return valuesIn(f, columns, zone)
}

// Unstated reads like Columns a file whose writer says nothing about values.
func Unstated(file []byte, columns []frame.Column, zone *time.Location) ([]Record, error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	return valuesIn(f, columns, zone)
}

func valuesIn(f *parquet.File, columns []frame.Column, zone *time.Location) ([]Record, error) {
	if n := len(f.Schema().Fields()); n != len(columns) {
		return nil, fmt.Errorf("%d columns, not %d", n, len(columns))
	}
	in := parquet.NewGenericReader[any](f)
	all := []Record{}
	rows := make([]any, 10)
	for {
		n, err := in.Read(rows)
		for _, row := range rows[:n] {
			all = append(all, recordOf(row, columns, zone))
		}
		clear(rows)
		if errors.Is(err, io.EOF) {
			return all, in.Close()
		}
		if err != nil {
			return nil, err
		}
	}
}

func recordOf(row any, columns []frame.Column, zone *time.Location) Record {
	cells, ok := row.(map[string]any)
	if !ok {
		return Record{"": fmt.Errorf("%T is no record", row)}
	}
	r := Record{}
	for i := range columns {
		c := &columns[i]
		if v := valueOf(cells[c.Name], c, zone); v != nil || !c.Optional {
			r[c.Name] = v
		}
	}
	return r
}

// valueOf returns the value of a column as JSON has it.
func valueOf(v any, c *frame.Column, zone *time.Location) any {
	switch v := v.(type) {
	case nil:
		if c.Kind == frame.List && !c.Empty() {
			return []any{}
		}
	case map[string]any:
		if c.Kind == frame.List {
			return valueOf(v["list"], c, zone)
		}
		if c.Kind == frame.Words {
			words := Record{}
			for name, text := range v {
				words[name] = fmt.Sprintf("%s", text)
			}
			return words
		}
		return recordOf(v, c.Members, zone)
	case []any:
		all := []any{}
		for _, one := range v {
			if element, ok := one.(map[string]any); ok {
				if inner, ok := element["element"]; ok {
					one = inner
				}
			}
			all = append(all, valueOf(one, &c.Members[0], zone))
		}
		return all
	case int64:
		if c.Kind == frame.Instant {
			return at(v, zone)
		}
		return float64(v)
	case time.Time:
		return v.In(zone).Format(times)
	}
	return v
}

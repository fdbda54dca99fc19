// Package tabletest reads tables of results back into the records that they were
// built from, in the form of encoding/json. It is for tests and part of no
// program. It shares nothing with the code that writes tables but their
// columns.
package tabletest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"preismon/query"
	"preismon/query/frame"
)

// Record is a result.
type Record = map[string]any

// JSON reads objects separated by commas.
func JSON(rows []byte) ([]Record, error) {
	all := []Record{}
	err := json.Unmarshal(slices.Concat([]byte("["), rows, []byte("]")), &all)
	return all, err
}

// Lines reads NDJSON.
func Lines(text []byte) ([]Record, error) {
	return JSON(bytes.ReplaceAll(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"), []byte(",")))
}

// CSV reads a table with columns for the fields.
func CSV(text []byte, fields []string) ([]Record, error) { return Cells(text, query.Columns(fields)) }

// Cells reads a table with these columns.
func Cells(text []byte, columns []frame.Column) ([]Record, error) {
	if !bytes.HasSuffix(text, []byte("\r\n")) {
		return nil, fmt.Errorf("the last line ends otherwise than with CRLF: %q", text)
	}
	cells, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(cells) == 0 {
		return nil, fmt.Errorf("no table: %w", err)
	}
	all := []Record{}
	for _, line := range cells[1:] {
		r := Record{}
		for _, c := range columns {
			if err := fromCell(r, &c, func(name string) string { return line[slices.Index(cells[0], name)] }); err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	return all, nil
}

func fromCell(r Record, c *frame.Column, cell func(string) string) error {
	text := ""
	if strings.HasSuffix(c.Name, "Money") {
		if amount := cell(c.Name + ".amountMinor"); amount != "" {
			text = fmt.Sprintf(`{"value":%s,"amountMinor":%s,"currencyCode":%q}`, cell(strings.TrimSuffix(c.Name, "Money")), amount, cell(c.Name+".currencyCode"))
		}
	} else {
		text = cell(c.Name)
	}
	switch {
	case text == "" && c.Nullable:
		r[c.Name] = nil
	case text == "" && c.Optional:
	case c.Kind == frame.Text || c.Kind == frame.Instant:
		r[c.Name] = strings.TrimPrefix(text, "'")
	default:
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return fmt.Errorf("%s: %q: %w", c.Name, text, err)
		}
		r[c.Name] = v
	}
	return nil
}

// times is the form of instants in JSON.
const times = "2006-01-02T15:04:05.000Z07:00"

func at(ms int64, zone *time.Location) string { return time.UnixMilli(ms).In(zone).Format(times) }

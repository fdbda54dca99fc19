package maps

import (
	"slices"
	"strings"

	"preismon/contracts/fault"
)

// The columns that are added to a table with one column per site (csv.unpivot):
// the name of one of those columns, and its value.
const (
	wideName  = "(column)"
	wideValue = "(value)"
)

// wide splits one row into several: one for each of its columns that is not
// blank.
type wide struct {
	columns []int // nil: the table is not of this kind
	row     []string
	line    int
	at      int      // index of the next of columns
	made    []string // the row returned last
}

// widen finds the columns in a header, and returns the header of the resulting
// rows.
func widen(columns, header []string) (wide, []string, error) {
	if len(columns) == 0 {
		return wide{}, header, nil
	}
	var w wide
	for _, name := range columns {
		i := slices.Index(header, name)
		if i < 0 {
			return wide{}, nil, fault.New(fault.Invalid, "", "csv.unpivot: the file has no column %q; its columns are %q", name, header)
		}
		if slices.Contains(header[i+1:], name) {
			return wide{}, nil, fault.New(fault.Invalid, "", "csv.unpivot: the file has the column %q more than once: rename all but one in its header", name)
		}
		w.columns = append(w.columns, i)
	}
	w.at = len(w.columns) // there is no row yet
	return w, slices.Concat(header, []string{wideName, wideValue}), nil
}

// take sets the row of the file to split.
func (w *wide) take(row []string, line int) {
	w.row, w.line, w.at = row, line, 0
}

// next returns the next resulting row; nil: take must be called with the file's
// next row.
func (w *wide) next(header []string) []string {
	for w.at < len(w.columns) {
		i := w.columns[w.at]
		w.at++
		if i < len(w.row) && strings.TrimSpace(w.row[i]) != "" {
			w.made = append(append(w.made[:0], w.row...), header[i], w.row[i])
			return w.made
		}
	}
	return nil
}

// unpivoted returns the sample with the resulting rows.
func (s *sample) unpivoted(columns []string) (*sample, error) {
	w, header, err := widen(columns, s.header)
	if err != nil || w.columns == nil {
		return s, err
	}
	made := *s
	made.header, made.rows = header, nil
	for _, row := range s.rows {
		w.take(row, 0)
		for rec := w.next(header); rec != nil; rec = w.next(header) {
			made.rows = append(made.rows, slices.Clone(rec))
		}
	}
	return &made, nil
}

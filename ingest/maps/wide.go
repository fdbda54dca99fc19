package maps

import (
	"iter"
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
	header  []string
	made    []string // the row yielded last
}

// widen finds the columns in a header, and returns the header of the resulting
// rows.
func widen(columns, header []string) (wide, []string, error) {
	if len(columns) == 0 {
		return wide{}, header, nil
	}
	w := wide{header: header}
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
	return w, slices.Concat(header, []string{wideName, wideValue}), nil
}

// split yields the rows that a row of the file results in. Each overwrites the one
// before.
func (w *wide) split(row []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if w.columns == nil {
			yield(row)
			return
		}
		for _, i := range w.columns {
			if i < len(row) && strings.TrimSpace(row[i]) != "" {
				w.made = append(append(w.made[:0], row...), w.header[i], row[i])
				if !yield(w.made) {
					return
				}
			}
		}
	}
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
		for rec := range w.split(row) {
			made.rows = append(made.rows, slices.Clone(rec))
		}
	}
	return &made, nil
}

package rest

import (
	"cmp"
	"io"
	"mime"
	"slices"
	"strings"

	"preismon/query"
	"preismon/query/accept"
	"preismon/query/frame"
	"preismon/query/table"
)

// form is a format in which results are sent.
type form struct {
	media string // its media type, as Accept names it
	typed string // the same with parameters, as in Content-Type
	// unsaid are parameters that the form has without naming them.
	unsaid map[string]string
	// write creates the writer of rows in this form; nil: they are sent as JSON.
	write func(w io.Writer, columns []frame.Column, sorted table.Sorting) table.Sections
	// flat forms have the columns of query.Flat.
	flat bool
	// lines forms are JSON, with one row per line.
	lines bool
	// dense forms are already compressed.
	dense bool
	// steady forms are the same bytes for the same rows, however these come.
	steady bool
	// holds is about how many bytes the writer of a stream holds at most:
	// TestEncodersHoldWhatIsCharged measures it.
	holds int64
}

var (
	jsonForm   = form{media: "application/json", typed: "application/json"}
	ndjsonForm = form{media: "application/x-ndjson", typed: "application/x-ndjson", lines: true, steady: true}
	csvForm    = form{media: "text/csv", typed: "text/csv; charset=utf-8; header=present", flat: true, steady: true, holds: 2 << 20, write: func(w io.Writer, columns []frame.Column, _ table.Sorting) table.Sections {
		return table.CSV(w, columns)
	}}
	parquetForm = form{media: "application/vnd.apache.parquet", typed: "application/vnd.apache.parquet", dense: true, holds: 16 << 20, write: func(w io.Writer, columns []frame.Column, sorted table.Sorting) table.Sections {
		return table.Parquet(w, columns, sorted)
	}}

	// The first is the default for clients that accept anything, or none of
	// them: a request whose Accept is of no use is answered as one without it
	// (RFC 9110, section 12.5.1).
	pageForms   = slices.Concat([]*form{&jsonForm, &ndjsonForm, &csvForm}, arrowForms, []*form{&parquetForm})
	streamForms = slices.Concat([]*form{&ndjsonForm, &csvForm}, arrowForms, []*form{&parquetForm})

	// arrowForms are what readers of Arrow can request by parameters. All of
	// them can read the first, which has none.
	arrowForms = arrowVariants()
)

const (
	dictionariesParam = "dictionaries" // none, or replaced: a later dictionary replaces an earlier one
	compressionParam  = "compression"  // of the buffers: none, lz4 or zstd
)

func arrowVariants() (all []*form) {
	const media = "application/vnd.apache.arrow.stream"
	for _, compression := range []string{"none", "lz4", "zstd"} {
		for _, dictionaries := range []string{"none", "replaced"} {
			f := &form{media: media, typed: media, unsaid: map[string]string{}, dense: compression != "none", holds: 12 << 20}
			for _, p := range []struct{ name, value string }{{dictionariesParam, dictionaries}, {compressionParam, compression}} {
				if p.value == "none" {
					f.unsaid[p.name] = p.value
				} else {
					f.typed += "; " + p.name + "=" + p.value
				}
			}
			if compression == "zstd" {
				f.holds = 28 << 20 // arrow-go gives its encoder a window of 8 MiB, and no choice
			}
			options := table.ArrowOptions{Dictionaries: dictionaries == "replaced", Compression: compression}
			f.write = func(w io.Writer, columns []frame.Column, _ table.Sorting) table.Sections {
				return table.Arrow(w, columns, options)
			}
			all = append(all, f)
		}
	}
	return all
}

// columns returns columns as the form has them.
func (f *form) columns(all []frame.Column) []frame.Column {
	if f.flat {
		return query.Flat(all)
	}
	return all
}

// formOf picks a form by the fields of Accept: the one with the highest weight,
// and of equal ones the earlier. The weight of a form is that of the most
// specific range that contains it. If no range names a form, the result is the
// first one that no weight of 0 refuses.
func formOf(accepted []string, forms []*form) *form {
	ranges := accept.Ranges(accepted)
	var best, allowed *form // allowed: the first that is not refused by a weight of 0
	bestWeight := 0.0
	for _, f := range forms {
		weight, exact := 0.0, -1
		for _, r := range ranges {
			if n, ok := f.within(r); ok && n > exact {
				weight, exact = r.Weight, n
			}
		}
		if weight > bestWeight {
			best, bestWeight = f, weight
		}
		if allowed == nil && exact < 0 {
			allowed = f
		}
	}
	return cmp.Or(best, allowed, forms[0])
}

// within reports whether the form is in a range, and how specific that range
// is. A parameter that the form does not have means another form, except for
// the charset, which all text has.
func (f *form) within(r accept.Range) (specific int, ok bool) {
	kind, _, _ := strings.Cut(f.media, "/")
	switch r.Media {
	case f.media:
		specific = 2
	case kind + "/*":
		specific = 1
	case "*/*":
	default:
		return 0, false
	}
	_, own, _ := mime.ParseMediaType(f.typed)
	for name, value := range r.Params {
		has := cmp.Or(own[name], f.unsaid[name])
		if name == "charset" {
			has = "utf-8"
		}
		if !strings.EqualFold(has, value) {
			return 0, false
		}
	}
	return specific + len(r.Params), true
}

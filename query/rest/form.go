package rest

import (
	"cmp"
	"io"
	"mime"
	"strconv"
	"strings"

	"preismon/query/table"
)

// form is a form in which results are sent.
type form struct {
	media string // its media type, as Accept names it
	typed string // the same with parameters, as Content-Type has it
	// write makes what writes rows with some fields in this form; nil: they are
	// sent as they come.
	write func(w io.Writer, fields []string) table.Writer
	// dense forms are compressed by themselves.
	dense bool
	// holds is how many bytes the writer of a stream holds at most, about.
	holds int64
}

var (
	jsonForm   = form{media: "application/json", typed: "application/json"}
	ndjsonForm = form{media: "application/x-ndjson", typed: "application/x-ndjson", write: func(w io.Writer, _ []string) table.Writer { return table.NDJSON(w) }}
	csvForm    = form{media: "text/csv", typed: "text/csv; charset=utf-8; header=present", write: table.CSV, holds: 256 << 10}
	arrowForm  = form{media: "application/vnd.apache.arrow.stream", typed: "application/vnd.apache.arrow.stream", holds: 8 << 20, write: func(w io.Writer, fields []string) table.Writer {
		return table.Arrow(w, table.Columns(fields))
	}}
	parquetForm = form{media: "application/vnd.apache.parquet", typed: "application/vnd.apache.parquet", dense: true, holds: 16 << 20, write: func(w io.Writer, fields []string) table.Writer {
		return table.Parquet(w, table.Columns(fields))
	}}

	// The first is what comes to who does not care, or cares for none of them:
	// a request that Accept says nothing useful about is answered as one without
	// it (RFC 9110, section 12.5.1).
	pageForms   = []*form{&jsonForm, &ndjsonForm, &csvForm, &arrowForm, &parquetForm}
	streamForms = []*form{&rawLines, &csvForm, &arrowForm, &parquetForm}

	// rawLines are the lines of a stream as the service gives them.
	rawLines = form{media: ndjsonForm.media, typed: ndjsonForm.typed}
)

// formOf picks a form by the fields of Accept: the one with the highest weight,
// the earlier of two alike. The weight of a form is that of the most specific
// range that it is in. Who names none of them gets the first that a weight of
// 0 does not refuse.
func formOf(accept []string, forms []*form) *form {
	ranges := acceptedRanges(strings.Join(accept, ","))
	var best, allowed *form // allowed: the first that is not refused by a weight of 0
	bestWeight := 0.0
	for _, f := range forms {
		weight, exact := 0.0, -1
		for _, r := range ranges {
			if n, ok := r.covers(f); ok && n > exact {
				weight, exact = r.weight, n
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

// mediaRange is one range of Accept.
type mediaRange struct {
	media  string // type/subtype, type/* or */*
	params map[string]string
	weight float64
}

// acceptedRanges reads Accept. What is malformed counts as not there.
func acceptedRanges(accept string) (all []mediaRange) {
	for _, part := range members(accept) {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || !strings.Contains(media, "/") {
			continue
		}
		r := mediaRange{media: media, params: params, weight: 1}
		if q, given := params["q"]; given {
			delete(params, "q")
			if r.weight, err = strconv.ParseFloat(q, 64); err != nil || !(r.weight >= 0 && r.weight <= 1) {
				continue
			}
		}
		all = append(all, r)
	}
	return all
}

// members splits a field at its commas, but for those within quotes.
func members(field string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(field, func(c rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		return c == ',' && !quoted
	})
}

// covers tells whether a form is in the range, and how specific that is. A
// parameter that the form does not have is another form, but for the charset
// that all text has.
func (r *mediaRange) covers(f *form) (specific int, ok bool) {
	kind, _, _ := strings.Cut(f.media, "/")
	switch r.media {
	case f.media:
		specific = 2
	case kind + "/*":
		specific = 1
	case "*/*":
	default:
		return 0, false
	}
	_, own, _ := mime.ParseMediaType(f.typed)
	for name, value := range r.params {
		has := own[name]
		if name == "charset" {
			has = "utf-8"
		}
		if !strings.EqualFold(has, value) {
			return 0, false
		}
	}
	return specific + len(r.params), true
}

package records

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Flat expands the objects in records for a table: if fields names
// "coverage.ratio", the fields in "coverage" take its place, under such names.
// Values that are not objects are left unchanged.
func Flat(to Writer, fields []string) Writer {
	f := &flat{Writer: to}
	for _, name := range fields {
		if outer, _, ok := strings.Cut(name, "."); ok && !slices.Contains(f.outer, outer) {
			f.outer = append(f.outer, outer)
		}
	}
	if len(f.outer) == 0 {
		return to
	}
	return f
}

type flat struct {
	Writer
	outer []string // names of the fields that are expanded
}

func (f *flat) Write(record []byte) error {
	all, err := fieldsOf(record)
	if err != nil {
		return err
	}
	b := bytes.NewBufferString("{")
	for _, one := range all {
		if !slices.Contains(f.outer, one.name) || one.value[0] != '{' {
			add(b, one)
			continue
		}
		inner, err := fieldsOf(one.value)
		if err != nil {
			return err
		}
		for _, in := range inner {
			add(b, field{one.name + "." + in.name, in.value})
		}
	}
	b.WriteByte('}')
	return f.Writer.Write(b.Bytes())
}

// add appends a field to an object under construction.
func add(b *bytes.Buffer, f field) {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	name, _ := json.Marshal(f.name) // a text can always be written
	b.Write(name)
	b.WriteByte(':')
	b.Write(f.value)
}

package query

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"preismon/query/frame"
)

// RecordColumns returns the columns of a record of /ext/v1 in a table: the
// fields of its JSON under their names, in their order. A field that holds a
// time has the tag column:"instant"; a nil pointer is null, and a field that is
// omitted when empty is absent.
func RecordColumns[T any]() []frame.Column { return membersOf(reflect.TypeFor[T]()) }

func membersOf(t reflect.Type) (all []frame.Column) {
	for f := range fieldsOf(t) {
		if f.Anonymous { // JSON inlines its fields
			all = append(all, membersOf(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		c := columnOf(f.Type)
		c.Name = name
		if strings.Contains(options, "omitempty") {
			c.Optional, c.Nullable = true, false // JSON leaves out a nil pointer
		}
		if f.Tag.Get("column") == "instant" {
			c.Kind = frame.Instant
		}
		all = append(all, c)
	}
	return all
}

// fieldsOf returns the fields that appear in JSON.
func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" && !yield(f) {
				return
			}
		}
	}
}

var textual = reflect.TypeFor[encoding.TextMarshaler]()

func columnOf(t reflect.Type) (c frame.Column) {
	if t.Kind() == reflect.Pointer {
		c = columnOf(t.Elem())
		c.Nullable = true
		return c
	}
	switch {
	case t == reflect.TypeFor[json.Number]():
		c.Kind = frame.Number
		return c
	case t.Implements(textual):
		c.Kind = frame.Text
		return c
	}
	switch t.Kind() {
	case reflect.Bool:
		c.Kind = frame.Boolean
	case reflect.Int, reflect.Int64, reflect.Uint64:
		c.Kind = frame.Integer
	case reflect.Slice:
		return listColumn("", columnOf(t.Elem()))
	case reflect.Struct:
		return object("", membersOf(t)...)
	case reflect.String:
		c.Kind = frame.Text
	default:
		panic("query: no column for " + t.String()) // an unsupported record field; TestRecordForms of query/rest covers all records
	}
	return c
}

// LookupColumns returns the columns of a record of a lookup, whose newest rows
// are rows of results.
func LookupColumns() []frame.Column {
	return append(RecordColumns[lookupHead](), listColumn("latest", object("", Columns(Include{}.Fields())...)))
}

// Names returns the names of columns.
func Names(columns []frame.Column) (all []string) {
	for i := range columns {
		all = append(all, columns[i].Name)
	}
	return all
}

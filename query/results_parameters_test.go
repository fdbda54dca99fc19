package query_test

import (
	"reflect"
	"testing"

	"preismon/query"
)

// TestEveryFieldHasAParameter: every field that a cursor is bound to or that
// selects a page is in the table exactly once.
func TestEveryFieldHasAParameter(t *testing.T) {
	var r query.ResultsRequest
	listed := map[any]string{}
	for _, p := range query.ResultsParameters {
		if other, twice := listed[p.Field(&r)]; twice {
			t.Errorf("%s and %s are of one field", p.Name, other)
		}
		listed[p.Field(&r)] = p.Name
	}
	fields := 0
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		for field, value := range v.Fields() {
			_, page := map[string]bool{"Limit": true, "Cursor": true}[field.Name]
			switch {
			case value.Kind() == reflect.Struct:
				look(value)
			case field.Tag.Get("json") == "-" && !page: // how the answer is formed
			case listed[value.Addr().Interface()] == "":
				t.Errorf("%s is in no parameter", field.Name)
			default:
				fields++
			}
		}
	}
	look(reflect.ValueOf(&r).Elem())
	if fields != len(query.ResultsParameters) {
		t.Errorf("%d fields, %d parameters", fields, len(query.ResultsParameters))
	}
}

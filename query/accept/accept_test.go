package accept_test

import (
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/query/accept"
)

func TestCoding(t *testing.T) {
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"gzip"}, "gzip"},
		{[]string{"gzip, zstd"}, "zstd"},
		{[]string{"gzip", "zstd"}, "zstd"},
		{[]string{"GZIP; Q=0.8, zstd ; q=0.5"}, "gzip"},
		{[]string{"*"}, "zstd"},
		{[]string{"*;q=0.1, zstd;q=0"}, "gzip"},
		{[]string{"gzip;q=0.000"}, ""},
		{[]string{"gzip;q=2, zstd;q=x"}, ""},
		{[]string{"gzip;q=NaN"}, ""},
		{[]string{"br, identity"}, ""},
		{[]string{"gzip;\tq=0"}, ""},
		{[]string{"identity;q=1, gzip;q=0.5"}, ""},
		{[]string{"identity, *;q=0.1"}, ""},
		{[]string{"identity, gzip"}, "gzip"},
		{[]string{"identity;q=0, gzip;q=0"}, ""},
	} {
		equals.Is(t, c.want, accept.Coding(c.fields, "zstd", "gzip"), "%q", c.fields)
	}
}

func TestRanges(t *testing.T) {
	got := accept.Ranges([]string{`text/csv;header="a,b\",c";q=0.5, nonsense, */*;q=0`, "application/json;q=1.1, application/*"})
	want := []accept.Range{
		{Media: "text/csv", Params: map[string]string{"header": `a,b",c`}, Weight: 0.5},
		{Media: "*/*", Params: map[string]string{}, Weight: 0},
		{Media: "application/*", Params: map[string]string{}, Weight: 1},
	}
	equals.Check(t, want, got)
}

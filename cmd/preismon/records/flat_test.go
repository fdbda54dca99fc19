package records_test

import (
	"bytes"
	"testing"

	"preismon/cmd/preismon/records"
	"preismon/deploy/testserver/equals"
)

// Objects with fields that are columns are split up; other objects, null and
// values that are not objects stay.
func TestFlat(t *testing.T) {
	fields := []string{"id", "coverage.pairs", "coverage.ratio", "health"}
	rows := []string{
		`{"id":"1","coverage":{"pairs":200,"ratio":0.95},"health":"GOOD","other":{"a":1}}`,
		`{"id":"2","coverage":{"pairs":0,"ratio":null},"health":null}`,
		`{"id":"3","coverage":null,"health":"GOOD"}`,
		`{"coverage":{}}`,
	}
	for form, c := range map[string]struct {
		to   func(*bytes.Buffer) records.Writer
		want string
	}{
		"csv": {
			func(out *bytes.Buffer) records.Writer { return records.Flat(records.CSV(out, fields), fields) },
			"id,coverage.pairs,coverage.ratio,health\r\n1,200,0.95,GOOD\r\n2,0,,\r\n3,,,GOOD\r\n,,,\r\n",
		},
		"ndjson": {
			func(out *bytes.Buffer) records.Writer { return records.Flat(records.NDJSON(out), fields) },
			`{"id":"1","coverage.pairs":200,"coverage.ratio":0.95,"health":"GOOD","other":{"a":1}}` + "\n" +
				`{"id":"2","coverage.pairs":0,"coverage.ratio":null,"health":null}` + "\n" + `{"id":"3","coverage":null,"health":"GOOD"}` + "\n{}\n",
		},
	} {
		equals.Is(t, c.want, written(t, rows, c.to), "%s", form)
	}
}

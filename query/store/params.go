package store

import (
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// params are the values of a statement's {name:Type} placeholders, each as the
// text that ClickHouse parses as that type. A top-level String is read in the
// Escaped format of tab-separated values; strings inside an array are quoted.
type params map[string]string

var escaped = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

var quoted = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

func (p params) text(name, v string)        { p[name] = escaped.Replace(v) }
func (p params) uint(name string, v uint64) { p[name] = strconv.FormatUint(v, 10) }
func (p params) int(name string, v int64)   { p[name] = strconv.FormatInt(v, 10) }

func texts[T ~string](p params, name string, vs []T) {
	p[name] = listOf(vs, func(b []byte, v T) []byte { return append(append(append(b, '\''), quoted.Replace(string(v))...), '\'') })
}

func ints(p params, name string, vs []int64) {
	p[name] = listOf(vs, func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) })
}

func uints[T ~uint64 | ~uint8](p params, name string, vs []T) {
	p[name] = listOf(vs, func(b []byte, v T) []byte { return strconv.AppendUint(b, uint64(v), 10) })
}

func listOf[T any](vs []T, add func([]byte, T) []byte) string {
	b := []byte{'['}
	for i, v := range vs {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, v)
	}
	return string(append(b, ']'))
}

// native returns the values for ch-go, which sends them unchanged: each must be
// a quoted literal, because the server reads them as custom settings.
func (p params) native() []proto.Parameter {
	all := make([]proto.Parameter, 0, len(p))
	for name, v := range p {
		all = append(all, proto.Parameter{Key: name, Value: "'" + literal.Replace(v) + "'"})
	}
	return all
}

var literal = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// classic returns the values for clickhouse-go.
func (p params) classic() clickhouse.Parameters { return clickhouse.Parameters(p) }

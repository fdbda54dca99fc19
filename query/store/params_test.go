package store

import (
	"testing"

	"preismon/contracts"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"pgregory.net/rapid"
)

// TestParamsComeBack sends texts through both clients, alone and in arrays:
// nothing in a value is ever read as SQL or as an escape.
func TestParamsComeBack(t *testing.T) {
	cfg := Defaults()
	cfg.DSN = contracts.Secret(testserver.ClickHouse(t).QueryDSN)
	s := must.Get(New(cfg))(t)
	defer s.Close()
	const question = "SELECT {x:String} AS x, {list:Array(String)} AS list"
	check := func(t *rapid.T, x string, list []string) {
		p := params{}
		p.text("x", x)
		texts(p, "list", list)
		got, err := rows(t.Context(), s, statement{text: question, params: p}, func(r driver.Rows) (all []string, err error) {
			var one string
			err = r.Scan(&one, &all)
			return append([]string{one}, all...), err
		})
		if err != nil {
			t.Fatalf("%q %q: %v", x, list, err)
		}
		same(t, "clickhouse-go", append([]string{x}, list...), got[0])

		var one proto.ColStr
		all := new(proto.ColStr).Array()
		err = s.reads.do(t.Context(), ch.Query{
			Body: question, Parameters: p.native(),
			Result: proto.Results{{Name: "x", Data: &one}, {Name: "list", Data: all}},
		})
		if err != nil {
			t.Fatalf("%q %q: %v", x, list, err)
		}
		same(t, "ch-go", append([]string{x}, list...), append([]string{one.Row(0)}, all.Row(0)...))
	}
	text := rapid.OneOf(
		rapid.String(),
		rapid.StringOfN(rapid.SampledFrom([]rune("\\'\"\t\n\r\x00N{}:[],-#/*;ab`")), 0, 12, -1),
		rapid.SampledFrom([]string{`\N`, `NULL`, `' OR 1=1 --`, `{x:String}`, `\`, `\\'`, "\x1b[0m", "ü'\\"}),
	)
	effort.Check(t, 25, func(t *rapid.T) {
		check(t, text.Draw(t, "x"), rapid.SliceOfN(text, 0, 4).Draw(t, "list"))
	})
}

func same(t *rapid.T, client string, want, got []string) {
	if len(want) != len(got) {
		t.Fatalf("%s: %q came back as %q", client, want, got)
	}
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%s: %q came back as %q", client, want[i], got[i])
		}
	}
}

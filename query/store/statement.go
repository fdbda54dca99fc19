package store

import (
	"context"
	"embed"
	"strings"
	"text/template"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"
)

// sqlFiles hold one question each. The few parts that depend on the question
// are template actions; values never are.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

var templates = template.Must(template.New("").ParseFS(sqlFiles, "sql/*.sql"))

// statement is a question with its values.
type statement struct {
	text     string
	params   params
	settings []ch.Setting
}

// briefly suits a statement that reads little more than it gives: several
// threads cost more to start and to merge than they save.
var briefly = []ch.Setting{ch.SettingInt("max_threads", 1)}

// context carries what clickhouse-go takes by it.
func (st statement) context(ctx context.Context) context.Context {
	set := clickhouse.Settings{}
	for _, s := range st.settings {
		set[s.Key] = s.Value
	}
	return clickhouse.Context(ctx, clickhouse.WithParameters(st.params.classic()), clickhouse.WithSettings(set))
}

func render(file string, data any, p params) statement {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, file, data); err != nil {
		panic("store: " + file + ": " + err.Error()) // a mistake in an embedded file
	}
	return statement{text: b.String(), params: p}
}

// scope is the part of every statement that says what its caller may see. No
// statement about a mandate's data is made without it.
type scope struct {
	AllOrders, AllSites   bool
	Order, Site, Products bool // selectors that are set
	Orders                bool // only pairs of some orders; see ofOrders
	// Pairs: rows must be checked against the pairs of the scope. It is false
	// only where the table is known to hold just these.
	Pairs bool
}

// visible binds the values of a caller's visibility under selectors. With
// everything unset, the scope is the mandate's whole.
func visible(p params, v query.Visibility, s query.Selectors) scope {
	p.uint("mandate", uint64(v.Mandate))
	p.uint("version", v.Version)
	sc := scope{
		AllOrders: v.Scope.AllOrders, AllSites: v.Scope.AllSites,
		Order: s.Order != 0, Site: s.Site != "", Products: s.Product(),
	}
	if !sc.AllOrders {
		uints(p, "orders", v.Scope.Orders)
	}
	if !sc.AllSites {
		texts(p, "sites", v.Scope.Sites)
	}
	if sc.Order {
		p.uint("order", uint64(s.Order))
	}
	if sc.Site {
		p.text("site", string(s.Site))
	}
	if sc.Products {
		p.uint("item", uint64(s.Item))
		texts(p, "eans", contracts.EANForms(s.EAN))
		p.text("pzn", s.PZN)
		p.text("asin", s.ASIN)
		p.text("asin_locale", s.ASINLocale)
	}
	sc.Pairs = !v.Applied || !v.Scope.WholeMandate() || sc.Order
	return sc
}

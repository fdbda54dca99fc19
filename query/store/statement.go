package store

import (
	"embed"
	"math"
	"slices"
	"strings"
	"text/template"

	"preismon/contracts"
	"preismon/query"

	"github.com/ClickHouse/ch-go"
)

// sqlFiles hold one query each. The few parts that depend on the request are
// template actions; values never are.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

var templates = template.Must(template.New("").ParseFS(sqlFiles, "sql/*.sql"))

// statement is a query with its values.
type statement struct {
	name     string // of its file, without .sql
	text     string
	params   params
	settings []ch.Setting
	kind     statementKind
}

// statementKind is what a statement waits for before it runs.
type statementKind int

const (
	ofRecords statementKind = iota // of the catalogue
	ofRows                         // observations, as many as a page has
	ofSums                         // of observations, however many
)

// of sets the kind of a statement.
func (st statement) of(k statementKind) statement {
	st.kind = k
	return st
}

// briefly suits a statement that reads little more than it returns: several
// threads cost more to start and to merge than they save.
var briefly = []ch.Setting{ch.SettingInt("max_threads", 1)}

// alongKey suits a read that ends after a few rows of its range, however many
// this has: blocks that it reads are kept unpacked.
var alongKey = append(slices.Clone(briefly), ch.SettingInt("merge_tree_max_rows_to_use_cache", math.MaxInt), ch.SettingInt("merge_tree_max_bytes_to_use_cache", math.MaxInt))

// inSmallBlocks suits a page: a block is a granule, so that the first rows of a
// page are encoded while ClickHouse reads the next ones, and no part reads
// further ahead than the merge of all parts needs.
var inSmallBlocks = []ch.Setting{ch.SettingInt("max_block_size", 2048), ch.SettingInt("read_in_order_use_buffering", 0)}

// inLargeBlocks suits a slice of a stream. By default a block is as many rows as
// have a megabyte, about 4,000; a dictionary of each text column comes with every
// block, and both sides work on it. More rows than these gain nothing. Slices would
// push what small reads need out of the cache of unpacked blocks.
var inLargeBlocks = []ch.Setting{ch.SettingInt("max_block_size", 16_384), ch.SettingInt("preferred_block_size_bytes", 0), ch.SettingInt("use_uncompressed_cache", 0)}

func render(file string, data any, p params) statement {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, file, data); err != nil {
		panic("store: " + file + ": " + err.Error()) // a mistake in an embedded file
	}
	return statement{name: nameOf(file), text: b.String(), params: p}
}

func nameOf(file string) string { return strings.TrimSuffix(file, ".sql") }

// scope is the part of every statement that limits what its caller may see. No
// statement about a mandate's data is built without it.
type scope struct {
	AllOrders, AllSites   bool
	Order, Site, Products bool // selectors that are set
	Named                 bool // products are selected by EAN, PZN or ASIN
	Items                 bool // only any of some items
	Orders                bool // only pairs of some orders; see ofOrders
	Versions              bool // versions of several partitions are in force
	// Shards is where the rows of observations are, for statements that read
	// them.
	Shards shards
	// Pairs: rows must be checked against the pairs of the scope. It is false
	// only where the table is known to hold just these.
	Pairs bool
	Floor bool // rows are kept from some capture time on
}

// visible binds the values of a caller's visibility under selectors. With no
// limits and no selectors, the scope is the whole mandate.
func visible(v query.Visibility, s query.Selectors) (params, scope) {
	p := params{}
	p.uint("mandate", uint64(v.Mandate))
	sc := scope{
		Versions:  len(v.Versions) > 1,
		AllOrders: v.Scope.AllOrders, AllSites: v.Scope.AllSites,
		Order: s.Order != 0, Site: s.Site != "", Products: s.Product(),
	}
	if sc.Floor = v.Floor > 0; sc.Floor {
		p.int("floor_ms", v.Floor)
	}
	if sc.Versions {
		uints(p, "versions", v.Versions)
	} else {
		p.uint("version", only(v.Versions))
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
	}
	if sc.Named = s.EAN != "" || s.PZN != "" || s.ASIN != ""; sc.Named {
		texts(p, "eans", contracts.EANForms(s.EAN))
		p.text("pzn", s.PZN)
		p.text("asin", s.ASIN)
		p.text("asin_locale", s.ASINLocale)
	}
	if sc.Items = s.Items != ""; sc.Items {
		p["any_items"] = string(s.Items)
	}
	sc.Pairs = !v.Applied || !v.Scope.WholeMandate() || sc.Order || sc.Items
	return p, sc
}

// only returns the one version there is, or 0, which no scope has.
func only(versions []uint64) uint64 {
	if len(versions) == 0 {
		return 0
	}
	return versions[0]
}

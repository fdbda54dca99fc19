package main

import (
	"context"
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// The shape of the market. Items are divided into groups; the items of a group
// are captured at its own shops and at one marketplace, so a pair is an item at
// a site of its group. A mandate watches a share of the items, with one order
// per group.
const (
	groups       = 10
	shops        = 4 // of a group
	markets      = 4
	sitesOfItem  = shops + 1
	items        = 40_000 // 200,000 pairs
	itemsOfGroup = items / groups
	firstItem    = 1_000_001
	largestShare = 0.5 // of all items, watched by the first mandate
	shareFalls   = 1.3 // the n-th mandate watches 1/n^1.3 of that
	capturesOf   = 100 // captures of an event
	rowsPerCap   = 1.384
	skew         = 2.5 // how much more often the first items of a group are captured
	epoch        = 1   // of the rows that were made here
	spanDays     = 10
	latePercent  = 5
)

// dataEnd is where the data ends: the same for every run, on any day.
var dataEnd = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// dataSet is what the measurements must know about the data.
type dataSet struct {
	from, to     time.Time // of the window of 168 h
	rows         int64     // of observations
	byMandate    int64
	items        []item
	mandates     int     // numbered from 1; the first one is the largest
	inWindow     []int64 // rows of a mandate in the last 168 h, by its number
	pairs        []int64
	alone        uint64 // the mandate that also has a database of its own
	latestOf     uint64 // the one with the most pairs up to 1,000
	watermarkSeq int64
	starts       map[int]time.Time // of windows that hold about so many rows of the largest mandate, by their rows
}

// item is one product, with the mandates that watch it.
type item struct {
	id                 uint64
	name, brand, maker string
	ean                string
	base               int64 // cents
	mandates           []uint64
	slug               string
}

var (
	brandNames = strings.Fields("Nordklang Ölfink Brümmer Vantor Häwelmann Zappelin Brummbär Klötzchen Tüfteltiger Lindenhof Klarwäsch Möhrenglück Höfele Demosan Hustinorm Vitalöwe Gelenkwohl Kneippsüd Kirschblüte Räuberhöhle")
	kindNames  = []string{
		"Bluetooth-Kopfhörer Over-Ear mit Geräuschunterdrückung", "Soundbar 3.1 mit kabellosem Subwoofer, 240 W", "Kaffeevollautomat Crema One, 19 bar",
		"Staubsauger beutellos, HEPA-Filter, 700 W", "USB-C-Ladegerät 65 W GaN, 2 Anschlüsse", "Wasserkocher doppelwandig 1,7 l", "Bausteine-Set \"Burg Drachenfels\", 412 Teile",
		"Brettspiel \"Wer klaut den Käse?\", 2–5 Spieler", "Plüschtier Fuchs Flönz, 30 cm, waschbar", "Duschgel Grüner Tee, 3 × 250 ml", "Vollwaschmittel Flüssig, 65 WL",
		"Zahncreme Kräuter, 2 × 75 ml", "Röstkaffee Crema, ganze Bohnen, 1 kg", "Vitamin D3 2.000 I.E., 180 St", "Schmerztabletten 400 mg, 50 St", "Smartwatch Puls 3, GPS, mit Silikonarmband",
	}
	colourNames = []string{"schwarz", "weiß", "anthrazit", "rot", "mintgrün", "königsblau", "Edelstahl gebürstet", ""}
)

func siteName(n int) string {
	if n < groups*shops {
		return fmt.Sprintf("shop-%02d.example", n+1)
	}
	return fmt.Sprintf("markt-%s.example", []string{"de", "at", "fr", "it"}[n-groups*shops])
}

// sitesOf are the sites of a group.
func sitesOf(group int) []int {
	return []int{group * shops, group*shops + 1, group*shops + 2, group*shops + 3, groups*shops + group%markets}
}

// makeItems makes the products and chooses which mandates watch them.
func makeItems(seed uint64, mandates int) []item {
	rnd := rand.New(rand.NewPCG(seed, 1))
	all := make([]item, items)
	for n := range all {
		it := &all[n]
		it.id = firstItem + uint64(n)
		brand := brandNames[rnd.IntN(len(brandNames))]
		model := fmt.Sprintf("%c%c-%d", 'A'+rnd.IntN(26), 'A'+rnd.IntN(26), 100+rnd.IntN(9900))
		kind := kindNames[rnd.IntN(len(kindNames))]
		it.name = strings.TrimSuffix(brand+" "+model+" "+kind+", "+colourNames[rnd.IntN(len(colourNames))], ", ")
		it.brand, it.maker = brand, brand+" GmbH & Co. KG"
		it.ean = fmt.Sprintf("40%011d", rnd.Uint64N(1e11))
		it.base = int64(199 * math.Exp(rnd.Float64()*5))
		it.slug = strings.ToLower(model)
		for m := 1; m <= mandates; m++ {
			if rnd.Float64() < largestShare/math.Pow(float64(m), shareFalls) {
				it.mandates = append(it.mandates, uint64(m))
			}
		}
	}
	return all
}

//go:embed sql/*.sql
var sqlFiles embed.FS

var templates = template.Must(template.New("").ParseFS(sqlFiles, "sql/*.sql"))

// statements returns the statements of a file.
func statements(file string, values any) (all []string) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, file, values); err != nil {
		panic("bench: " + file + ": " + err.Error()) // a mistake in an embedded file
	}
	for s := range strings.SplitSeq(b.String(), ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// chunkCaptures are the captures that are made at once.
const chunkCaptures = 500_000

// makeData fills the database, or uses what the folder has.
func (r *run) makeData(ctx context.Context) {
	rows := r.rows(ctx, "SELECT (SELECT count() FROM observations), (SELECT uniqExact(mandate) FROM mandates)")
	if r.err != nil {
		return
	}
	_, v := measured(rows[0])
	there, mandates := v[0], r.Mandates
	if there > 0 {
		mandates = int(v[1])
	}
	d := &dataSet{
		items: makeItems(r.Seed, mandates), mandates: mandates, inWindow: make([]int64, mandates+1), pairs: make([]int64, mandates+1),
		from: dataEnd.Add(-168 * time.Hour), to: dataEnd, starts: map[int]time.Time{},
	}
	if there == 0 {
		r.say("making %s observations inside ClickHouse", grouped(int64(r.Observations)))
		d.fill(ctx, r)
	} else {
		r.say("the folder has %s observations", grouped(int64(there)))
	}
	r.settle(ctx)
	r.data = d
	d.look(ctx, r)
}

func (d *dataSet) fill(ctx context.Context, r *run) {
	r.exec(ctx, append(d.catalog(), statements("stage.sql", nil)...)...)
	events := int64(float64(r.Observations)/rowsPerCap/capturesOf + 1)
	captures := events * capturesOf
	c := map[string]any{
		"Seed": int64(r.Seed), "PerEvent": capturesOf, "StartMs": dataEnd.AddDate(0, 0, -spanDays).UnixMilli(),
		"EventMicros": int64(spanDays*24*time.Hour/time.Microsecond) / events,
		"Groups":      groups, "PerGroup": itemsOfGroup, "Shops": shops, "Markets": markets, "FirstItem": firstItem, "Late": latePercent, "Skew": skew, "Epoch": epoch,
	}
	for from := int64(0); from < captures && r.err == nil; from += chunkCaptures {
		size := min(chunkCaptures, captures-from)
		c["From"], c["Captures"] = from, size
		r.exec(ctx, statements("chunk.sql", c)...)
		if done := from + size; from/(10*chunkCaptures) != done/(10*chunkCaptures) {
			r.say("%.0f %%", 100*float64(done)/float64(captures))
		}
	}
	r.exec(ctx, statements("finish.sql", map[string]int64{"Epoch": epoch, "Events": events})...)
}

// catalog returns the statements that write master data, orders and scopes: the
// state that a projector would have written, so that one can take over.
func (d *dataSet) catalog() []string {
	var dims, sites strings.Builder
	for n := range d.items {
		it := &d.items[n]
		list := make([]string, len(it.mandates))
		for i, m := range it.mandates {
			list[i] = strconv.FormatUint(m, 10)
		}
		fmt.Fprintf(&dims, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t[%s]\n", it.id, it.name, it.brand, it.maker, it.ean, it.base, it.slug, strings.Join(list, ","))
	}
	for n := range groups*shops + markets {
		kind, canonical, compare, country := "shop", 0, 0, "DE"
		if n >= groups*shops {
			kind = "marketplace"
			canonical = 1
			country = []string{"DE", "AT", "FR", "IT"}[n-groups*shops]
		} else if n%shops == 3 {
			compare = 1
		}
		fmt.Fprintf(&sites, "%s\tSite %d\t%s\t%s\tEUR\t\t%d\t%d\t1\n", siteName(n), n+1, kind, country, canonical, compare)
	}
	return append([]string{
		"CREATE OR REPLACE TABLE bench_items (item UInt64, name String, brand String, maker String, ean String, base Int64, slug String, mandates Array(UInt64)) ENGINE = MergeTree ORDER BY item",
		"INSERT INTO bench_items FORMAT TabSeparated\n" + dims.String(),
		"INSERT INTO sites (site, name, site_type, country_code, currency, operator, canonical_country_market, price_comparison_market, version) FORMAT TabSeparated\n" + sites.String(),
	}, statements("catalog.sql", map[string]any{
		"Groups": groups, "PerGroup": itemsOfGroup, "FirstItem": firstItem, "Shops": shops, "Markets": markets,
		"CreatedMs": dataEnd.AddDate(-1, 0, 0).UnixMilli(), "Mandates": d.mandates,
	})...)
}

// look finds out what the measurements must know.
func (d *dataSet) look(ctx context.Context, r *run) {
	d.rows = int64(r.number(ctx, "SELECT count() FROM observations"))
	d.byMandate = int64(r.number(ctx, "SELECT count() FROM observations_by_mandate"))
	d.watermarkSeq = int64(r.number(ctx, "SELECT max(seq) FROM checkpoints WHERE stream = 'OBSERVATIONS' AND epoch = 1"))
	for _, perMandate := range []struct {
		into      []int64
		statement string
	}{
		{d.inWindow, fmt.Sprintf("SELECT mandate, count() FROM observations_by_mandate WHERE captured_desc BETWEEN %d AND %d GROUP BY mandate", -d.to.UnixMilli(), -d.from.UnixMilli())},
		{d.pairs, "SELECT mandate, max(pairs) FROM scopes GROUP BY mandate"},
	} {
		for _, row := range r.rows(ctx, perMandate.statement) {
			perMandate.into[int(row[0].(float64))] = int64(row[1].(float64))
		}
	}
	for m := 1; m <= d.mandates; m++ {
		if d.alone == 0 && d.inWindow[m] >= 12_000 && d.inWindow[m]*99 <= d.byMandate {
			d.alone = uint64(m)
		}
		if d.latestOf == 0 && d.pairs[m] <= 1_000 {
			d.latestOf = uint64(m)
		}
	}
	for _, rows := range []int{tableRows, r.size.streamRows / 10, r.size.streamRows / 3, r.size.streamRows, r.size.memoryRows} {
		d.starts[rows] = d.start(ctx, r, rows)
	}
	if r.err != nil {
		return
	}
	r.result.Observations, r.result.Mandates = d.rows, d.mandates
	r.result.DataSet += fmt.Sprintf("; %s rows of observations, %s by mandate, %d mandates of %s to %s pairs, %d days, %d %% late events",
		grouped(d.rows), grouped(d.byMandate), d.mandates, grouped(slices.Min(d.pairs[1:])), grouped(d.pairs[1]), spanDays, latePercent)
}

// start returns the lower end of a window up to the end of the data that holds
// about that many rows of the largest mandate, at most 168 h.
func (d *dataSet) start(ctx context.Context, r *run, rows int) time.Time {
	got := r.rows(ctx, fmt.Sprintf(
		"SELECT captured_desc FROM observations_by_mandate WHERE mandate = 1 AND captured_desc BETWEEN %d AND %d ORDER BY captured_desc LIMIT 1 OFFSET %d",
		-d.to.UnixMilli(), -d.from.UnixMilli(), rows))
	if len(got) == 0 {
		return d.from
	}
	return time.UnixMilli(-int64(got[0][0].(float64))).UTC()
}

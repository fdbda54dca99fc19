package maps

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"preismon/contracts"
)

// Summary is what an import understood, warned of and rejected.
type Summary struct {
	File    string `json:"file"`
	Source  string `json:"source"`
	Label   string `json:"label"`
	Mandate string `json:"mandate,omitempty"`
	Login   string `json:"login,omitempty"`

	Columns []Column `json:"columns"` // in the order of the mapping
	NotUsed []string `json:"notUsed"` // columns of the file without a use

	Rows          int `json:"rows"`          // without the header and blank lines
	MultiLineRows int `json:"multiLineRows"` // with a line break in a field
	Accepted      int `json:"accepted"`      // rows that the service will return
	Known         int `json:"known"`         // of those, published by an earlier import
	Rejected      int `json:"rejected"`
	SortedRows    int `json:"sortedRows"` // rows of pairs whose captures are out of order

	Observations  int            `json:"observations"` // captures of one item at one site
	SeveralOffers int            `json:"severalOffers"`
	Offers        int            `json:"offers"`
	Outcomes      map[string]int `json:"outcomes"` // observations by outcome
	Batches       int            `json:"batches"`
	Orders        int            `json:"orders"`
	KeptSites     int            `json:"keptSites"` // sites with other facts in the catalogue than in the mapping, which stay
	Named         int            `json:"named"`     // items that other mandates also see, which keep their names, although the file has others
	Gone          int            `json:"gone"`      // pairs of earlier imports that the file does not list any more; they stay visible
	Events        int            `json:"events"`    // published, of all kinds

	Sites       []SiteSummary              `json:"sites"`
	Products    int                        `json:"products"` // by the sites' keys
	Pairs       int                        `json:"pairs"`
	Items       int                        `json:"items"`
	SharedItems int                        `json:"sharedItems"` // seen at two or more sites
	EANs        int                        `json:"eans"`        // items identified by one
	PZNs        int                        `json:"pzns"`
	ASINs       int                        `json:"asins"`
	OwnKeys     int                        `json:"ownKeys"` // items known only by their site's key
	Currencies  map[contracts.Currency]int `json:"currencies"`
	First       time.Time                  `json:"first"` // capture; zero without rows
	Last        time.Time                  `json:"last"`

	Changes []PriceChange `json:"changes,omitempty"` // if the request asks for them, the greatest first

	Warnings   []Count `json:"doubtful"`
	RejectedBy []Count `json:"rejectedBy"`

	ReadTime    time.Duration `json:"readTime"`
	PublishTime time.Duration `json:"publishTime"`
}

// Column is a field of the mapping and where it comes from.
type Column struct {
	Field   string   `json:"field"`
	Columns []string `json:"columns,omitempty"`
	Value   string   `json:"value,omitempty"` // fixed, or used if the columns are empty
}

// SiteSummary is what was found at one site.
type SiteSummary struct {
	Site         contracts.SiteKey `json:"site"`
	Rows         int               `json:"rows"`
	Observations int               `json:"observations"`
	Items        int               `json:"items"`
}

func (s *Summary) columns(m *Mapping, header []string) {
	s.Outcomes = map[string]int{}
	used := map[string]bool{}
	s.Columns = m.fields()
	for _, f := range s.Columns {
		for _, c := range f.Columns {
			used[c] = true
		}
	}
	for _, h := range header {
		if !used[h] && !slices.Contains(m.CSV.Unpivot, h) {
			s.NotUsed = append(s.NotUsed, h)
		}
	}
}

// finish completes the summary with the results in the book and the tally.
func (im *importer) finish() *Summary {
	s, b := im.sum, im.book
	s.Rejected = im.tally.total
	s.Warnings, s.RejectedBy = im.tally.counts()
	s.Products, s.Currencies = b.products, b.currencies
	if b.first != 0 {
		s.First, s.Last = time.UnixMilli(b.first).UTC(), time.UnixMilli(b.end).UTC()
	}
	at := map[*item]int{}
	for _, st := range b.ordered {
		if st.rows == 0 {
			continue
		}
		one := SiteSummary{Site: st.Site.Site, Rows: st.rows, Observations: st.obs}
		for _, p := range st.pairs {
			if p.rows > 0 {
				one.Items++
				at[p.item]++
			}
		}
		s.Pairs += one.Items
		s.Sites = append(s.Sites, one)
	}
	s.Items = len(at)
	for it, sites := range at {
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&s.SharedItems, sites > 1)
		count(&s.EANs, it.EAN != "" && !it.ownKey)
		count(&s.PZNs, it.PZN != "")
		count(&s.ASINs, it.ASIN != "")
		count(&s.OwnKeys, it.ownKey)
	}
	return s
}

// String returns the summary for people.
func (s *Summary) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-14s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s as %q\n\nUnderstood\n", s.File, s.Source)
	line("rows", "%s: %s accepted, %s rejected; %s of several lines, %s sorted", digits(s.Rows), digits(s.Accepted), digits(s.Rejected), digits(s.MultiLineRows), digits(s.SortedRows))
	if s.Known > 0 {
		line("", "%s imported before, not published again", plural(s.Known, "accepted row"))
	}
	line("observations", "%s, %s with several offers; %s", digits(s.Observations), digits(s.SeveralOffers), plural(s.Offers, "offer"))
	if len(s.Outcomes) > 0 {
		line("outcomes", "%s", counted(s.Outcomes))
	}
	if !s.First.IsZero() {
		line("period", "%s to %s", s.First.Format(time.RFC3339), s.Last.Format(time.RFC3339))
	}
	if len(s.Currencies) > 0 {
		line("currencies", "%s", counted(s.Currencies))
	}
	line("items", "%s, %s at several sites; from %s of the sites", digits(s.Items), digits(s.SharedItems), plural(s.Products, "product"))
	line("known by", "%s EAN, %s PZN, %s ASIN, %s only by their site's key", digits(s.EANs), digits(s.PZNs), digits(s.ASINs), digits(s.OwnKeys))
	line("pairs", "%s at %s", digits(s.Pairs), plural(len(s.Sites), "site"))
	for _, o := range s.Sites {
		line("", "%-28s %14s %22s %13s", o.Site, plural(o.Rows, "row"), plural(o.Observations, "observation"), plural(o.Items, "item"))
	}
	if s.Events > 0 { // none in a dry run
		line("events", "%s, with %s of observations and %s", digits(s.Events), plural(s.Batches, "batch"), plural(s.Orders, "order"))
		line("orders", "labelled %q; a file with the same label (--label) adds to them", s.Label)
		if s.KeptSites > 0 {
			line("kept sites", "%s as the catalogue has them, and not as the mapping; see preismon catalogue sites", plural(s.KeptSites, "site"))
		}
		if s.Named > 0 {
			line("kept names", "%s that other customers see, too", plural(s.Named, "product"))
		}
		if s.Gone > 0 {
			line("not listed", "%s of earlier imports, in view with their history", plural(s.Gone, "product"))
		}
	}

	b.WriteString("\nColumns\n")
	for _, c := range s.Columns {
		from := strings.Join(c.Columns, " + ")
		switch {
		case from == "":
			from = fmt.Sprintf("always %q", c.Value)
		case c.Value != "":
			from += fmt.Sprintf(", else %q", c.Value)
		}
		fmt.Fprintf(&b, "  %-20s %s\n", c.Field, from)
	}
	if len(s.NotUsed) > 0 {
		fmt.Fprintf(&b, "  %-20s %s\n", "not used", strings.Join(s.NotUsed, ", "))
	}

	list := func(title string, counts []Count) {
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, c := range counts {
			fmt.Fprintf(&b, "  %9s %-8s %s (%s)\n", digits(c.N), english.PluralWord(c.N, strings.TrimSuffix(c.Unit, "s"), ""), c.What, linesOf(c))
			if c.Example != "" {
				fmt.Fprintf(&b, "  %9s %-8s line %d: %s\n", "", "", c.Lines[0], c.Example)
			}
		}
		if len(counts) == 0 {
			b.WriteString("  nothing\n")
		}
	}
	list("Doubtful", s.Warnings)
	list("Rejected", s.RejectedBy)
	return b.String()
}

func linesOf(c Count) string {
	lines := make([]string, len(c.Lines))
	for i, l := range c.Lines {
		lines[i] = strconv.Itoa(l)
	}
	if c.N > len(lines) {
		lines = append(lines, "...")
	}
	return english.PluralWord(c.N, "line", "") + " " + strings.Join(lines, ", ")
}

func counted[K ~string](m map[K]int) string {
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(a, b K) int { return m[b] - m[a] })
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = string(k) + " " + digits(m[k])
	}
	return strings.Join(parts, ", ")
}

// plural returns a number with its noun: 1 row, 778,026 rows.
func plural(n int, thing string) string { return digits(n) + " " + english.PluralWord(n, thing, "") }

// digits returns a count with commas: 778,026.
func digits(n int) string { return humanize.Comma(int64(n)) }

package query

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"preismon/contracts"
)

// Filters select among the observations of a scope by what was observed; zero:
// not given. A cursor is bound to them.
type Filters struct {
	Brand         string `json:"brand,omitempty"`
	Manufacturer  string `json:"manufacturer,omitempty"`
	Merchant      string `json:"merchant,omitempty"`
	IsPrime       *bool  `json:"isPrime,omitempty"`
	IsBuyBox      *bool  `json:"isBuyBox,omitempty"`
	CoverageState string `json:"coverageState,omitempty"`
}

// ParameterKind is what a parameter is for, in the terms of capabilities.
type ParameterKind string

// Kinds of parameters.
const (
	PageParameter     ParameterKind = "page" // how much of the answer
	SelectorParameter ParameterKind = "selector"
	ScopeParameter    ParameterKind = "scope"
	FilterParameter   ParameterKind = "filter"
	WindowParameter   ParameterKind = "window"
	FormParameter     ParameterKind = "form" // how it is written
	LatestParameter   ParameterKind = "latest"
	IncludeParameter  ParameterKind = "include" // a group of fields
)

// Parameter is a parameter of reads of results.
type Parameter struct {
	Name     string
	Kind     ParameterKind
	Values   []string // of a text; nil: any
	Requires string
	// Fed: feeds support it. With the others, results change by more than the
	// rows that become visible: the client itself keeps the newest row of a
	// pair, and the catalogue's facts about products and sites change
	// independently of rows.
	Fed bool
	// Column is the column of observations that equals the value of a filter;
	// empty: query/store/sql/results.sql has its condition.
	Column string

	Help        string // what it means, in a sentence for people, without its values
	Brief       string // the same in a few words for agents, which pay for each
	Alias       string // a second name, where it is typed
	Placeholder string // stands for the value in help; empty: TEXT

	field func(*ResultsRequest) any
}

// coverageStates are the values of coverageState.
var coverageStates = slices.Sorted(maps.Keys(coverageOutcomes))

// Field returns a pointer to the parameter's field in a request: a string of
// some type, a *bool for a flag, a **bool or a **int that may be absent.
func (p Parameter) Field(r *ResultsRequest) any { return p.field(r) }

// ResultsParameters are all of them. Requests are decoded and encoded by this
// table; capabilities, feeds, conditions of statements, arguments of tools, flags
// of the command line and the filters of the explorer are made from it, and the
// contract is compared with it. How to add one is described in
// deploy/docs/contribute.md.
var ResultsParameters = []Parameter{
	{Name: "limit", Kind: PageParameter, field: func(r *ResultsRequest) any { return &r.Limit }},
	{Name: "cursor", Kind: PageParameter, field: func(r *ResultsRequest) any { return &r.Cursor }},

	{
		Name: "orderId", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.OrderID },
		Help: "The pairs of one order.", Brief: "orderId of list_orders", Placeholder: "ID",
	},
	{
		Name: "itemId", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.ItemID },
		Help: "One item, by its id.", Brief: "itemId of list_items", Placeholder: "ID",
	},
	{
		Name: "pzn", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.PZN },
		Help: "One item, by its Pharmazentralnummer.", Brief: "Pharmazentralnummer", Placeholder: "DIGITS",
	},
	{
		Name: "ean", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.EAN },
		Help: "One item, by its EAN or GTIN.", Brief: "EAN or GTIN", Placeholder: "DIGITS",
	},
	{
		Name: "asinLocale", Kind: SelectorParameter, Fed: true, Requires: "asin", field: func(r *ResultsRequest) any { return &r.ASINLocale },
		Help: "Marketplace locale of the ASIN, like de.", Brief: "Like de or co.uk", Placeholder: "LOCALE",
	},
	{
		Name: "asin", Kind: SelectorParameter, Fed: true, Requires: "asinLocale", field: func(r *ResultsRequest) any { return &r.ASIN },
		Help: "One item, by its ASIN.", Brief: "Needs asinLocale", Placeholder: "ASIN",
	},
	{
		Name: "site", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Site },
		Help: "One site, by its key.", Brief: "Site key of list_sites", Placeholder: "KEY",
	},

	{
		Name: "globalScope", Kind: ScopeParameter, field: func(r *ResultsRequest) any { return &r.GlobalScope },
		Help: "Everything that you see; needs both bounds of the window.", Brief: "All sites: both bounds, at most 168 hours, no product, order or site",
	},

	{
		Name: "brand", Kind: FilterParameter, field: func(r *ResultsRequest) any { return &r.Brand },
		Help: "Only this brand.", Brief: "Exact match",
	},
	{
		Name: "manufacturer", Kind: FilterParameter, Fed: true, Column: "manufacturer", field: func(r *ResultsRequest) any { return &r.Manufacturer },
		Help: "Only this manufacturer, as observed.", Brief: "Exact match, as observed",
	},
	{
		Name: "merchant", Kind: FilterParameter, Fed: true, Column: "merchant", field: func(r *ResultsRequest) any { return &r.Merchant },
		Help: "Only this merchant.", Brief: "Exact match, as observed",
	},
	{
		Name: "isPrime", Kind: FilterParameter, Column: "is_prime", field: func(r *ResultsRequest) any { return &r.IsPrime },
		Help: "Only rows in which this was observed as true, or as false.", Brief: "Observed value; unknown matches neither",
	},
	{
		Name: "isBuyBox", Kind: FilterParameter, Column: "is_buy_box", field: func(r *ResultsRequest) any { return &r.IsBuyBox },
		Help: "Only rows in which this was observed as true, or as false.", Brief: "Observed value; unknown matches neither",
	},
	{
		Name: "coverageState", Kind: FilterParameter, Fed: true, Values: coverageStates, field: func(r *ResultsRequest) any { return &r.CoverageState },
		Help: "Only records of this state.", Brief: "Only this state", Placeholder: "STATE",
	},

	{
		Name: "capturedFrom", Kind: WindowParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.CapturedFrom },
		Help: "Earliest capture time: RFC 3339, or a date.", Brief: "Earliest capture; date or RFC 3339", Alias: "from", Placeholder: "TIME",
	},
	{
		Name: "capturedTo", Kind: WindowParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.CapturedTo },
		Help: "Latest capture time: RFC 3339, or a date, which is included.", Brief: "Latest capture; a date is its whole day", Alias: "to", Placeholder: "TIME",
	},
	{
		Name: "sort", Kind: FormParameter, Values: []string{"asc", "desc"}, field: func(r *ResultsRequest) any { return &r.Sort },
		Help: "By capture time.", Brief: "By capturedAt", Placeholder: "ORDER",
	},
	{
		Name: "timezone", Kind: FormParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Timezone },
		Help: "IANA zone of dates and of the times in the answer.", Brief: "IANA zone of dates and times", Placeholder: "ZONE",
	},
	{
		Name: "latestPerPair", Kind: LatestParameter, field: func(r *ResultsRequest) any { return &r.LatestPerPair },
		Help:  "Only the newest record of each item at each site.",
		Brief: "One offer of each pair's newest observation: buy box, else lowest total price, else lowest price; at most 1,000 pairs",
	},
	{
		Name: "latestObservationPerPair", Kind: LatestParameter, field: func(r *ResultsRequest) any { return &r.LatestObservationPerPair },
		Help: "All records of the newest observation of each item at each site.", Brief: "All offers of each pair's newest observation",
	},

	{
		Name: "includeCoverage", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.Coverage },
		Brief: "Add coverageState and lastProcessedAt",
	},
	{
		Name: "includeOrderIds", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.OrderIDs },
		Brief: "Add orderIds",
	},
	{
		Name: "includeCustomerData", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.CustomerData },
		Brief: "Add the customer's own fields",
	},
	{
		Name: "includeExportFields", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.ExportFields },
		Brief: "Add offer, shipping, URL, isPrime, isBuyBox, rating, reference prices, observed manufacturer",
	},
	{
		Name: "includeIdentity", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.Identity },
		Brief: "Add identifiers, product name, brand, manufacturer",
	},
}

// ResultsParameter returns the parameter with a name; the zero value: there is
// none.
func ResultsParameter(name string) Parameter {
	i := slices.IndexFunc(ResultsParameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}
	}
	return ResultsParameters[i]
}

// FeedsRefuse reports whether a feed refuses requests that have the parameter;
// others that it does not support have no place in a feed.
func (p Parameter) FeedsRefuse() bool {
	return (p.Kind == FilterParameter || p.Kind == LatestParameter) && !p.Fed
}

// Type returns the JSON type of the value: string, boolean or integer.
func (p Parameter) Type() string {
	switch p.field(new(ResultsRequest)).(type) {
	case **int:
		return "integer"
	case *bool, **bool:
		return "boolean"
	}
	return "string"
}

// checkValues refuses the texts of a request that are not among the values of
// their parameter.
func (r *ResultsRequest) checkValues() (wrong error) {
	for _, p := range ResultsParameters {
		if text, ok := p.Given(r).(string); ok && p.Values != nil && !slices.Contains(p.Values, text) {
			wrong = joinFaults(wrong, invalid("%s: %q is none of %s.", p.Name, text, strings.Join(p.Values, ", ")))
		}
	}
	return wrong
}

// Given returns the value of the parameter in a request: a string, an integer
// or a boolean, ids as strings, since not every reader of JSON keeps 64 bits;
// nil if it is not given.
func (p Parameter) Given(r *ResultsRequest) any {
	var text string
	switch v := p.field(r).(type) {
	case **int:
		if *v != nil {
			return **v
		}
	case **bool:
		if *v != nil {
			return **v
		}
	case *bool:
		if *v {
			return true
		}
	case *contracts.OrderID:
		text = idText(*v)
	case *contracts.ItemID:
		text = idText(*v)
	case *contracts.SiteKey:
		text = string(*v)
	case *string:
		text = *v
	}
	if text != "" {
		return text
	}
	return nil
}

func idText[T ~uint64](id T) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(id), 10)
}

// Parameters returns the parameters of the request, by name, without those that
// are not given.
func (r ResultsRequest) Parameters() map[string]any {
	all := map[string]any{}
	for _, p := range ResultsParameters {
		if v := p.Given(&r); v != nil {
			all[p.Name] = v
		}
	}
	return all
}

// Given returns the filters that are set, by name: strings and booleans.
func (f Filters) Given() map[string]any {
	r := ResultsRequest{Filters: f}
	return r.Parameters()
}

// filterCapabilities describes the parameters that decide which results a read
// returns (CAP-00d).
func filterCapabilities() (all []FilterCapability) {
	described := []ParameterKind{SelectorParameter, ScopeParameter, FilterParameter, WindowParameter, LatestParameter}
	for _, p := range ResultsParameters {
		if !slices.Contains(described, p.Kind) {
			continue
		}
		all = append(all, FilterCapability{Parameter: p.Name, Kind: string(p.Kind), Type: p.Type(), Values: p.Values, Requires: p.Requires})
	}
	return all
}

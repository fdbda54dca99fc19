package query

import (
	"maps"
	"slices"
	"strconv"

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

	field func(*ResultsRequest) any
}

// coverageStates are the values of coverageState.
var coverageStates = slices.Sorted(maps.Keys(coverageOutcomes))

// Field returns a pointer to the parameter's field in a request: a string of
// some type, a *bool for a flag, a **bool or a **int that may be absent.
func (p Parameter) Field(r *ResultsRequest) any { return p.field(r) }

// ResultsParameters are all of them. Requests are decoded and encoded by this
// table, capabilities and feeds follow it, statements bind its filters, and the
// flags of the command line are checked against it. How to add one is described
// in deploy/docs/contribute.md.
var ResultsParameters = []Parameter{
	{Name: "limit", Kind: PageParameter, field: func(r *ResultsRequest) any { return &r.Limit }},
	{Name: "cursor", Kind: PageParameter, field: func(r *ResultsRequest) any { return &r.Cursor }},

	{Name: "orderId", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.OrderID }},
	{Name: "itemId", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.ItemID }},
	{Name: "pzn", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.PZN }},
	{Name: "ean", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.EAN }},
	{Name: "asinLocale", Kind: SelectorParameter, Fed: true, Requires: "asin", field: func(r *ResultsRequest) any { return &r.ASINLocale }},
	{Name: "asin", Kind: SelectorParameter, Fed: true, Requires: "asinLocale", field: func(r *ResultsRequest) any { return &r.ASIN }},
	{Name: "site", Kind: SelectorParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Site }},

	{Name: "globalScope", Kind: ScopeParameter, field: func(r *ResultsRequest) any { return &r.GlobalScope }},

	{Name: "brand", Kind: FilterParameter, field: func(r *ResultsRequest) any { return &r.Brand }},
	{Name: "manufacturer", Kind: FilterParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Manufacturer }},
	{Name: "merchant", Kind: FilterParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Merchant }},
	{Name: "isPrime", Kind: FilterParameter, field: func(r *ResultsRequest) any { return &r.IsPrime }},
	{Name: "isBuyBox", Kind: FilterParameter, field: func(r *ResultsRequest) any { return &r.IsBuyBox }},
	{Name: "coverageState", Kind: FilterParameter, Fed: true, Values: coverageStates, field: func(r *ResultsRequest) any { return &r.CoverageState }},

	{Name: "capturedFrom", Kind: WindowParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.CapturedFrom }},
	{Name: "capturedTo", Kind: WindowParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.CapturedTo }},
	{Name: "sort", Kind: FormParameter, Values: []string{"asc", "desc"}, field: func(r *ResultsRequest) any { return &r.Sort }},
	{Name: "timezone", Kind: FormParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Timezone }},
	{Name: "latestPerPair", Kind: LatestParameter, field: func(r *ResultsRequest) any { return &r.LatestPerPair }},
	{Name: "latestObservationPerPair", Kind: LatestParameter, field: func(r *ResultsRequest) any { return &r.LatestObservationPerPair }},

	{Name: "includeCoverage", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.Coverage }},
	{Name: "includeOrderIds", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.OrderIDs }},
	{Name: "includeCustomerData", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.CustomerData }},
	{Name: "includeExportFields", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.ExportFields }},
	{Name: "includeIdentity", Kind: IncludeParameter, Fed: true, field: func(r *ResultsRequest) any { return &r.Include.Identity }},
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
		c := FilterCapability{Parameter: p.Name, Kind: string(p.Kind), Type: "string", Values: p.Values, Requires: p.Requires}
		switch p.field(new(ResultsRequest)).(type) {
		case *bool, **bool:
			c.Type = "boolean"
		}
		all = append(all, c)
	}
	return all
}

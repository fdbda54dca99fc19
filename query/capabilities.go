package query

import (
	"context"
	"time"
)

// Capabilities describes what reads of results can do on this server, for
// programs (CAP-00a to CAP-00f).
type Capabilities struct {
	CoreFields    []string           `json:"coreFields"`
	IncludeGroups IncludeGroups      `json:"includeGroups"`
	Filters       []FilterCapability `json:"filters"`
	Sort          SortCapability     `json:"sort"`
	Window        WindowCapability   `json:"window"`
	Timezone      ZoneCapability     `json:"timezone"`
	Limits        ResultsLimits      `json:"limits"`
	ScopeGuard    ScopeGuard         `json:"scopeGuard"`
}

// IncludeGroups lists the fields that each parameter adds.
type IncludeGroups struct {
	Coverage     []string `json:"includeCoverage"`
	OrderIDs     []string `json:"includeOrderIds"`
	CustomerData []string `json:"includeCustomerData"`
	ExportFields []string `json:"includeExportFields"`
	Identity     []string `json:"includeIdentity"`
}

var (
	coreFields    = core.names()
	includeGroups = IncludeGroups{
		Coverage: coverageGroup.names(), OrderIDs: ordersGroup.names(), CustomerData: customerGroup.names(),
		ExportFields: exportGroup.names(), Identity: identityGroup.names(),
	}
)

// FieldGroups are the fields that each parameter adds to rows.
func FieldGroups() IncludeGroups { return includeGroups }

// FilterCapability is a parameter that decides which results a read returns.
type FilterCapability struct {
	Parameter string   `json:"parameter"`
	Kind      string   `json:"kind"` // selector, scope, filter, window or latest
	Type      string   `json:"type"` // string or boolean
	Values    []string `json:"values,omitempty"`
	Requires  string   `json:"requires,omitempty"`
}

// SortCapability describes how results are ordered.
type SortCapability struct {
	Parameter string   `json:"parameter"`
	Field     string   `json:"field"`
	Values    []string `json:"values"`
	Default   string   `json:"default"`
}

// WindowCapability describes how the time of results is bounded, in hours.
type WindowCapability struct {
	From                string   `json:"from"`
	To                  string   `json:"to"`
	Closed              bool     `json:"closed"`
	Formats             []string `json:"formats"`
	ProductHistoryHours int      `json:"productHistoryHours"`
	DefaultHours        int      `json:"defaultHours"`
	GlobalMaxHours      int      `json:"globalMaxHours"`
}

// ZoneCapability describes the zone in which dates are read and times are
// written.
type ZoneCapability struct {
	Parameter string `json:"parameter"`
	Names     string `json:"names"`
	Default   string `json:"default"`
}

// ResultsLimits are the limits in force.
type ResultsLimits struct {
	LimitDefault            int     `json:"limitDefault"`
	LimitMax                int     `json:"limitMax"`
	StreamLimitDefault      int     `json:"streamLimitDefault"`
	LatestPerPairMaxPairs   int     `json:"latestPerPairMaxPairs"`
	EnrichmentMaxCandidates int     `json:"enrichmentMaxCandidates"`
	ResponseMaxBytes        int     `json:"responseMaxBytes"`
	SoftDeadlineSeconds     float64 `json:"softDeadlineSeconds"`
	HardBudgetSeconds       float64 `json:"hardBudgetSeconds"`
	CursorDays              int     `json:"cursorDays"`
}

// ScopeGuard describes what is refused because its scope and window are jointly
// too broad, and what to do then; null: not limited.
type ScopeGuard struct {
	Enabled        bool     `json:"enabled"`
	MaxScopePairs  *int     `json:"maxScopePairs"`
	MaxWindowHours *int     `json:"maxWindowHours"`
	Recovery       []string `json:"recovery"`
}

// recovery describes the way out of RESULTS_SCOPE_TOO_BROAD and related codes
// (RES-10).
var recovery = []string{
	"Send a new request with a narrower scope (itemId, orderId, site, pzn, ean, or asin with asinLocale), narrower capturedFrom and capturedTo, or both.",
	"A cursor, another sort or the stream does not get around a refusal: they belong to reads that were accepted.",
	"With globalScope=true keep both bounds, leave selectors out, and stay within 168 hours.",
	"To read by product, order or site instead, remove globalScope.",
	"For latestPerPair stay within 1,000 item-site pairs.",
	"Read site by site with windows of 24, then 12, 6 and 1 hour before reading fewer sites. There are no deferred jobs.",
}

// Capabilities describes reads of results to a caller that may read them.
func (s *Service) Capabilities(ctx context.Context, p Principal) (*Capabilities, error) {
	if _, err := s.authorize(ctx, p); err != nil {
		return nil, err
	}
	hours := func(d time.Duration) int { return int(d / time.Hour) }
	limit := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	guard := ScopeGuard{MaxScopePairs: limit(s.cfg.ScanGuardMaxPairs), MaxWindowHours: limit(s.cfg.ScanGuardMaxHours), Recovery: recovery}
	guard.Enabled = guard.MaxScopePairs != nil || guard.MaxWindowHours != nil
	return &Capabilities{
		CoreFields:    coreFields,
		IncludeGroups: includeGroups,
		Filters:       filterCapabilities(),
		Sort:          SortCapability{Parameter: "sort", Field: "capturedAt", Values: []string{"asc", "desc"}, Default: "desc"},
		Window: WindowCapability{
			From: "capturedFrom", To: "capturedTo", Closed: true, Formats: []string{"RFC 3339", "YYYY-MM-DD"},
			ProductHistoryHours: hours(productHistoryWindow), DefaultHours: hours(defaultWindow), GlobalMaxHours: hours(maxGlobalWindow),
		},
		Timezone: ZoneCapability{Parameter: "timezone", Names: "IANA", Default: "UTC"},
		Limits: ResultsLimits{
			LimitDefault: DefaultLimit, LimitMax: MaxResultsLimit, StreamLimitDefault: MaxResultsLimit,
			LatestPerPairMaxPairs: maxLatestPairs, EnrichmentMaxCandidates: maxEnrichCandidates, ResponseMaxBytes: s.cfg.MaxResponseBytes,
			SoftDeadlineSeconds: s.cfg.SoftDeadline.Seconds(), HardBudgetSeconds: s.cfg.HardBudget.Seconds(),
			CursorDays: int(cursorLifetime / (24 * time.Hour)),
		},
		ScopeGuard: guard,
	}, nil
}

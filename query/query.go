// Package query answers questions about observed prices: it decides what a
// caller may see, what a request means, and how rows become JSON. REST and MCP
// are two interfaces to its Service; neither has rules of its own.
//
// Service is stateless: whatever it keeps between requests either equals what
// the tables would return, which each request proves, or has no influence on
// answers. It reads through a Store, which package store implements on
// ClickHouse.
package query

import (
	"context"
	"errors"
	"time"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/query/admission"
)

// Config holds the budgets of the service.
type Config struct {
	// CursorKey seals cursors; all nodes that serve the same clients share it.
	// At least 32 bytes.
	CursorKey contracts.Secret
	// VerifyCursorKeys are additional keys whose cursors are still accepted,
	// for rotation.
	VerifyCursorKeys []contracts.Secret
	// SoftDeadline ends a page early, with a cursor. HardBudget fails it; it is
	// at most MaxHardBudget.
	SoftDeadline, HardBudget time.Duration
	// ScanGuardMaxPairs and ScanGuardMaxHours refuse reads whose scope and
	// window are jointly too broad (RES-09); 0: not set.
	ScanGuardMaxPairs, ScanGuardMaxHours int
	// CountedRows is the number of rows up to which a read's summary is
	// computed by reading them; beyond that, the store counts. 0: the store
	// always counts.
	CountedRows int
	// MaxResponseBytes bounds one JSON response and one NDJSON line.
	MaxResponseBytes int
	// MaxDownloadBytes bounds the raw size of a downloaded file, on every
	// surface (LIM-13).
	MaxDownloadBytes int64
	// RememberBytes bounds the memory for remembered answers, in addition to
	// what reads may spend; 0: none are remembered.
	RememberBytes int64
	// RememberStreamBytes is the same for the compressed text of streams; 0:
	// none is remembered.
	RememberStreamBytes int64
	// RememberStreamFolder is a folder of this service alone, where text of
	// streams that has no room in memory is kept, at most RememberStreamDisk
	// bytes; it is made if necessary, and emptied of text at the start and by
	// Close. Empty: such text is forgotten.
	RememberStreamFolder string
	RememberStreamDisk   int64
	// CheckRemembered compares every remembered answer with a newly computed
	// one, and fails the request if they differ. It costs more than not
	// remembering.
	CheckRemembered bool
	// Written returns a channel that is closed after a projector has written a
	// checkpoint, so that readers waiting for rows wake at once; a nil channel:
	// not reported at present. A nil func: never reported.
	Written func() <-chan struct{}
	// Untouched reports whether it is known that no row of a selection became
	// visible after one watermark and up to another; nil: it is never known.
	Untouched func(after, upTo event.Mark, s *event.Selection) bool
	// Admission is what reads may spend; nil: admission.Defaults.
	Admission *admission.Node
}

// MaxHardBudget is well below the time for which the projector keeps the pairs
// of a replaced scope (KeepScopes), so that a read sees one scope to its end.
const MaxHardBudget = 5 * time.Minute

// CursorKeyIDs identifies the keys of cursors, the sealing key first, without
// revealing their content: nodes with the same ids can open each other's
// cursors.
func (c Config) CursorKeyIDs() []string {
	ids := []string{keyID(c.CursorKey)}
	for _, k := range c.VerifyCursorKeys {
		ids = append(ids, keyID(k))
	}
	return ids
}

// Defaults returns the published limits; CursorKey stays empty.
func Defaults() Config {
	return Config{
		SoftDeadline:     5 * time.Second,
		HardBudget:       20 * time.Second,
		CountedRows:      maxCountedRows,
		MaxResponseBytes: 64 << 20,
		MaxDownloadBytes: 256 << 20,
		RememberBytes:    64 << 20,

		RememberStreamBytes: 128 << 20,
	}
}

// Validate reports every fault of the configuration.
func (c Config) Validate() error {
	var f contracts.Faults
	f.Check(c.CursorKey != "", "cursor-key: missing")
	f.Check(c.CursorKey == "" || len(c.CursorKey) >= minCursorKey, "cursor-key: %d bytes, at least %d", len(c.CursorKey), minCursorKey)
	for i, k := range c.VerifyCursorKeys {
		f.Check(len(k) >= minCursorKey, "verify-cursor-keys: number %d has %d bytes, at least %d", i+1, len(k), minCursorKey)
	}
	f.Check(c.SoftDeadline > 0, "soft-deadline: not positive")
	f.Check(c.HardBudget >= c.SoftDeadline, "hard-budget: less than the soft-deadline")
	f.Check(c.HardBudget <= MaxHardBudget, "hard-budget: %s, at most %s", c.HardBudget, MaxHardBudget)
	f.Check(c.ScanGuardMaxPairs >= 0, "scan-guard-max-scope-pairs: negative")
	f.Check(c.ScanGuardMaxHours >= 0, "scan-guard-max-window-hours: negative")
	f.Check(c.CountedRows >= 0, "counted-rows: negative")
	f.Check(c.MaxResponseBytes > 0, "max response bytes: not positive")
	f.Check(c.MaxDownloadBytes > 0, "max download bytes: not positive")
	f.Check(c.RememberBytes >= 0 && c.RememberStreamBytes >= 0, "remember-bytes: negative")
	f.Check(c.RememberStreamDisk >= 0, "remember-streams-disk: negative")
	return f.Err()
}

// Service answers reads.
type Service struct {
	cfg      Config
	store    *remembering
	archives []Archive
	now      func() time.Time
	seal     *sealer
	node     *admission.Node
	seen     lastSeen
	edge     *edges
	asOf     lastInstant // of feeds
	rowIDs   rowIDs
	tags     *tagger
	tails    tails
	stats    stats
	verified verified
}

// New returns a Service. The clock decides what "now" means in windows and
// cursors. The archives are searched for a file's content in their order.
func New(cfg Config, store Store, now func() time.Time, archives ...Archive) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	seal, err := newSealer(now, cfg.CursorKey, cfg.VerifyCursorKeys...)
	if err != nil {
		return nil, err
	}
	tags, err := newTagger(cfg.CursorKey)
	if err != nil {
		return nil, err
	}
	node := cfg.Admission
	if node == nil {
		node = admission.New(admission.Defaults())
	}
	written := cfg.Written
	if written == nil {
		written = func() <-chan struct{} { return nil }
	}
	remembers, err := newRemembering(store, cfg)
	if err != nil {
		return nil, err
	}
	return &Service{
		cfg: cfg, store: remembers, archives: archives, now: now, seal: seal, seen: newLastSeen(), verified: newVerified(), node: node,
		edge: newEdges(func(ctx context.Context) (Edge, error) { return store.Edge(ctx) }, written), rowIDs: newRowIDs(cfg.CursorKey), tags: tags,
	}, nil
}

// Close deletes what the service wrote to its folder. Reads in progress are not
// ended, and remain right.
func (s *Service) Close() error { return s.store.texts.close() }

// Admission is the budget that reads of this service spend from.
func (s *Service) Admission() *admission.Node { return s.node }

// Store is what Service reads from. Every method that returns data of a mandate
// accepts the Visibility of the caller and returns no more than that.
type Store interface {
	// Access reads an account, its mandate's scope and how far every table is
	// complete, as of a moment after the call began. An unknown account is a
	// NotFound fault.
	Access(ctx context.Context, account contracts.AccountID) (*Access, error)

	// Sites lists visible sites by key, after the key given, at most limit.
	Sites(ctx context.Context, v Visibility, q SitesQuery) ([]contracts.Site, error)
	// Items lists visible items by id, after the id given, at most limit.
	Items(ctx context.Context, v Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error)
	// ItemCandidates lists the matching items of the mandate's scope by id,
	// after the id given, at most the query's limit. It includes items that the
	// account does not see, except for a category, which is matched in visible
	// items only.
	ItemCandidates(ctx context.Context, v Visibility, q ItemsQuery) ([]contracts.ItemID, error)
	// VisibleItems returns those of the given items that are visible, by id, at
	// most limit.
	VisibleItems(ctx context.Context, v Visibility, items []contracts.ItemID, limit int) ([]contracts.Item, error)
	// Categories lists the categories that the mandate has assigned to visible
	// items, in order, without duplicates, at most the query's limit.
	Categories(ctx context.Context, v Visibility, q CategoriesQuery) ([]string, error)
	// ASINLocales lists the locale keys of visible items, at most limit.
	ASINLocales(ctx context.Context, v Visibility, limit int) ([]string, error)

	// Orders lists visible orders by id, after the id given, at most the
	// query's limit, without their items, sites and memberships.
	Orders(ctx context.Context, v Visibility, q OrdersQuery) ([]contracts.Order, error)
	// OrderScope counts what the visible pairs of some orders span, up to
	// atMost.
	OrderScope(ctx context.Context, v Visibility, orders []contracts.OrderID, atMost int) (OrderScope, error)
	// OrderSites returns the sites of the visible pairs of some orders, at most
	// limit, in no order.
	OrderSites(ctx context.Context, v Visibility, orders []contracts.OrderID, limit int) ([]OrderSite, error)
	// OrderPairs lists the visible pairs of some orders by item and site, after
	// the pair given, at most limit, each with its newest capture.
	OrderPairs(ctx context.Context, v Visibility, q OrderPairsQuery) ([]OrderPair, error)
	// Memberships returns what the sources of visible legacy orders record
	// about some items.
	Memberships(ctx context.Context, v Visibility, orders []contracts.OrderID, items []contracts.ItemID) (map[contracts.OrderID]map[contracts.ItemID]contracts.Membership, error)

	// CountPairs measures the visible scope under the selectors.
	CountPairs(ctx context.Context, v Visibility, s Selectors) (ScopeSize, error)
	// PairsBySite counts the visible pairs of each site under the selectors; a
	// site without any is absent.
	PairsBySite(ctx context.Context, v Visibility, s Selectors) (map[contracts.SiteKey]uint64, error)
	// Tally sums up all rows of a query by site, for sites with rows, in no
	// order. The query's order, position and limit do not matter.
	Tally(ctx context.Context, v Visibility, q *ResultsQuery) ([]SiteTally, error)
	// ObservedBySite counts, per site, the visible pairs for which a query has
	// a row; a site without any is absent.
	ObservedBySite(ctx context.Context, v Visibility, q *ResultsQuery) (map[contracts.SiteKey]uint64, error)
	// ScopeItems lists the items of the visible pairs under the selectors by
	// id, at most limit.
	ScopeItems(ctx context.Context, v Visibility, s Selectors, limit int) ([]contracts.ItemID, error)
	// Results passes rows to each, block by block, in the order of the query. A
	// block is valid until each returns; an error of each ends the read with
	// that error.
	Results(ctx context.Context, v Visibility, q *ResultsQuery, each func(*Block) error) error

	// The parts that rows are enriched with, for the given items.
	ItemRecords(ctx context.Context, items []contracts.ItemID) ([]contracts.Item, error)
	ReferencePrices(ctx context.Context, v Visibility, items []contracts.ItemID) ([]contracts.ReferencePrices, error)
	CustomerData(ctx context.Context, v Visibility, items []contracts.ItemID) ([]contracts.CustomerData, error)
	PairOrders(ctx context.Context, v Visibility, items []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error)
	LastProcessed(ctx context.Context, v Visibility, items []contracts.ItemID) (map[contracts.Pair]time.Time, error)
	// SiteRecords reads the facts of all sites.
	SiteRecords(ctx context.Context) ([]contracts.Site, error)

	// SeesWholeOrder reports whether each item of a visible order, and each of
	// its sites, is in a visible pair.
	SeesWholeOrder(ctx context.Context, v Visibility, order contracts.OrderID) (bool, error)
	// FileJobsThrough returns the n-th job from q.After on, whatever its name,
	// if more follow it; otherwise 0.
	FileJobsThrough(ctx context.Context, v Visibility, q FileJobsQuery, n int) (contracts.FileJobID, error)
	// FileJobs lists jobs by id.
	FileJobs(ctx context.Context, v Visibility, q FileJobsQuery) ([]FileJob, error)
	// CountFiles counts archive documents, at most that many, and their files.
	CountFiles(ctx context.Context, v Visibility, of FilesOf, most int) (documents, files int, err error)
	// CountFilesOf counts those of several orders in either direction, at most
	// so many documents each; an order without any is absent.
	CountFilesOf(ctx context.Context, v Visibility, orders []contracts.OrderID, most int) ([]FileCount, error)
	// FileEntries lists archived files, newest first.
	FileEntries(ctx context.Context, v Visibility, q FileEntriesQuery) ([]FileEntry, error)
	// NewestFiles lists the newest archived files of several orders, at most
	// each per order and direction, by order and newest first, at most limit.
	NewestFiles(ctx context.Context, v Visibility, orders []contracts.OrderID, each, limit int) ([]FileEntry, error)

	// What follows is only for /ext/v1.

	// ItemsNamed returns the visible items that any of some identifiers name,
	// by id, with only their identifiers.
	ItemsNamed(ctx context.Context, v Visibility, names ItemNames) ([]contracts.Item, error)
	// Statistics sums up the rows of a window by group and part of the window,
	// after a position, at most the query's limit; the totals come first.
	Statistics(ctx context.Context, v Visibility, q *StatisticsQuery) ([]Statistic, error)
	// Feed passes rows to each, block by block, in the order in which they
	// became visible. A block is valid until each returns.
	Feed(ctx context.Context, v Visibility, q *FeedQuery, each func(*Block) error) error
	// Silences passes captures that no other one of their pair followed for some
	// time to each, block by block, by time, item and site. A block is valid
	// until each returns.
	Silences(ctx context.Context, v Visibility, q *SilencesQuery, each func(*Block) error) error
	// Windows counts the rows of each part of a window, by bucket; parts
	// without any are absent.
	Windows(ctx context.Context, v Visibility, q *WindowsQuery) ([]WindowRows, error)
	// RowsAtMost bounds what Results returns and examines, coarsely, by the
	// index.
	RowsAtMost(ctx context.Context, v Visibility, q *ResultsQuery) (AtMost, error)
	// EventIDs returns the ids of the events at some positions, as far as they are
	// known.
	EventIDs(ctx context.Context, positions []Watermark) (map[Watermark]string, error)
	// VisibleTimes returns when some positions became visible, to within about a
	// second and never too early; positions from before these times were kept are
	// absent.
	VisibleTimes(ctx context.Context, positions []Watermark) (map[Watermark]time.Time, error)
	// CatalogueVersions returns the versions of sites, reference prices and
	// customer data, as far as they are included: what is read of them later is
	// of these versions or newer.
	CatalogueVersions(ctx context.Context, v Visibility, include Include) ([]uint64, error)
	// Edge returns how far the tables are, as of a moment after the call began.
	Edge(ctx context.Context) (Edge, error)
}

// Codes of the public contract that this package returns.
const (
	CodeValidation            = "MVP_VALIDATION_ERROR"
	CodeScopeTooBroad         = "RESULTS_SCOPE_TOO_BROAD"
	CodeLatestPairTooBroad    = "RESULTS_LATEST_PAIR_SCOPE_TOO_BROAD"
	CodeQueryTimeout          = "RESULTS_QUERY_TIMEOUT"
	CodeResponseTooLarge      = "RESPONSE_TOO_LARGE"
	CodeItemTooBroad          = "ITEM_SCOPE_TOO_BROAD"
	CodeCategoryNotAvailable  = "ITEM_CATEGORY_NOT_AVAILABLE"
	CodeOrderCoverageTooBroad = "ORDER_COVERAGE_SCOPE_TOO_BROAD"
	CodeOrderNotFound         = "ORDER_NOT_FOUND"
	CodeOrderTooBroad         = "ORDER_SCOPE_TOO_BROAD"
	CodeHistoryTooBroad       = "HISTORY_SCOPE_TOO_BROAD"
	CodeArtifactNotFound      = "HISTORY_ARTIFACT_NOT_FOUND"
	CodeContentMissing        = "HISTORY_ARTIFACT_CONTENT_MISSING"
	CodePayloadTooLarge       = "PAYLOAD_TOO_LARGE"
	CodeForbidden             = "AUTH_FORBIDDEN"
	CodeTokenInvalid          = "AUTH_TOKEN_INVALID"
	CodeFeedScopeChanged      = "CHANGES_SCOPE_CHANGED"
	CodeFeedHistoryRebuilt    = "CHANGES_HISTORY_REBUILT"
	CodeFeedTokenExpired      = "CHANGES_TOKEN_EXPIRED"
)

// within applies the time budget to a read, and records how much of it the read
// spends waiting for others.
func (s *Service) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(admission.WithBudget(ctx, s.cfg.HardBudget), s.cfg.HardBudget)
}

// bounded is within for a read that sets err: at its end, an expired budget
// becomes the published failure of a read with these bounds.
func (s *Service) bounded(ctx context.Context, b bounds, err *error) (_ context.Context, end func()) {
	ctx, cancel := s.within(ctx)
	return ctx, func() {
		*err = s.budgetOf(ctx, *err, b)
		cancel()
	}
}

// listBudget is budget for a list, or with limit 1 for one record or file: reads
// without a window to narrow.
func (s *Service) listBudget(ctx context.Context, err error, limit int) error {
	late, ok := errors.AsType[*fault.Error](s.budget(ctx, err))
	switch {
	case ok && late.Code == CodeQueryTimeout:
		late.Msg = "The read did not finish within its time budget. Try again later" + unlessOne(limit, ", or with a lower limit") + "."
		return late
	case ok && admission.Refused(late):
		return late
	}
	return err
}

// budget turns an expired time budget into the published failure: that of a
// slow query, or, where the read mostly waited, of a node without capacity.
func (s *Service) budget(ctx context.Context, err error) error {
	return s.budgetOf(ctx, err, capturedBounds)
}

// budgetOf is budget for a read with these bounds.
func (s *Service) budgetOf(ctx context.Context, err error, b bounds) error {
	if admission.Refused(err) {
		return err
	}
	if err != nil && fault.KindOf(err) == fault.Timeout || errors.Is(err, context.DeadlineExceeded) {
		if late := s.node.Late(ctx, err); late != nil {
			return late
		}
		return &fault.Error{
			Kind: fault.Timeout, Code: CodeQueryTimeout, Err: err,
			Msg: "The read did not finish within its time budget. " + b.lessTime(),
		}
	}
	return err
}

// lessTime returns advice on making a read with these bounds faster.
func (b bounds) lessTime() string {
	switch b {
	case sinceBounds:
		return "Narrow the product or the site, or take a later since, and send a new request."
	case fixedBounds:
		return "Narrow the product, the order or the site, and send a new request."
	case orderBounds:
		return "Narrow with orderId, or ask for fewer files, and send a new request."
	}
	return "Narrow the product, the site or the window, and send a new request."
}

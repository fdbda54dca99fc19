package query

import (
	"cmp"
	"context"
	"errors"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Bounds of the status of orders, in addition to those of sites.
const (
	maxOrderFiles   = 100 // that may be requested, per order and direction
	maxStatusFiles  = 10_000
	statusFileBytes = 800 // per file, as it is read and as a record
)

// OrderStatusRequest requests how the orders that the caller sees are doing.
type OrderStatusRequest struct {
	OrderID  contracts.OrderID // only this one
	Files    int               // how many of the newest exports and of the newest imports of each order
	Timezone string
}

func (r OrderStatusRequest) wrong() error {
	if r.Files < 0 || r.Files > maxOrderFiles {
		return invalid("files: %d is outside 0 to %d.", r.Files, maxOrderFiles)
	}
	return nil
}

// room is roughly what the read holds.
func (r OrderStatusRequest) room() int64 {
	orders := maxStatusOrders
	if r.OrderID != 0 {
		orders = 1
	}
	return pageBlocks + statusBatchSize + listRoom(orders) + int64(min(2*orders*r.Files, maxStatusFiles))*statusFileBytes
}

// OrderStatusPage has all orders, by id.
type OrderStatusPage = Records[OrderStatus, OrderStatusEcho]

// OrderStatusEcho describes the moment of the answer, and what it contains.
type OrderStatusEcho struct {
	AsOf     string `json:"asOf"`
	Timezone string `json:"timezone"`
	Orders   int    `json:"orders"`
	Files    int    `json:"files"`
}

// OrderStatus is an order with everything in its detail, and its newest files.
type OrderStatus struct {
	OrderID        contracts.OrderID `json:"orderId"`
	Alias          *string           `json:"alias"`
	Name           string            `json:"name"`
	Active         bool              `json:"active"`
	CreatedAt      string            `json:"createdAt" column:"instant"`
	Health         Health            `json:"health"`
	Coverage       OrderCoverage     `json:"coverage"`
	Monitoring     OrderMonitoring   `json:"monitoring"`
	QualitySummary QualityCounts     `json:"qualitySummary"`
	// FileCount is how many files its histories have. It and Files are nil if
	// none were requested, or for the reason in FilesProblem.
	FileCount    *int         `json:"fileCount"`
	Files        *[]OrderFile `json:"files"`
	FilesProblem *PartProblem `json:"filesProblem"`
}

// OrderMonitoring is where and how often the order's items are captured.
type OrderMonitoring struct {
	Sites           []contracts.SiteKey `json:"sites"`
	IntervalMinutes *int                `json:"intervalMinutes"`
	LastRunAt       *string             `json:"lastRunAt" column:"instant"`
	NextRunAt       *string             `json:"nextRunAt" column:"instant"`
}

// OrderFile is an archived file as the history of its kind lists it.
type OrderFile struct {
	Kind        string  `json:"kind"` // exports or imports
	Name        string  `json:"name"`
	ExportName  *string `json:"exportName,omitempty"` // of exports
	Filename    string  `json:"filename"`
	ContentType string  `json:"contentType"`
	SizeBytes   int64   `json:"sizeBytes"`
	ArchivedAt  string  `json:"archivedAt" column:"instant"`
}

// OrderStatus returns for each order, active or not, how well it is observed,
// and which files were archived last. At most 100,000 pairs, 1,000 orders and
// 10,000 files, otherwise an Invalid fault. A caller that may not read files
// gets the orders without them.
func (s *Service) OrderStatus(ctx context.Context, p Principal, r OrderStatusRequest) (page *OrderStatusPage, err error) {
	zone, err := contracts.LoadZone(cmp.Or(r.Timezone, "UTC"))
	if err != nil {
		err = invalid("timezone: %s.", err)
	}
	if err = joinFaults(r.wrong(), err); err != nil {
		return nil, err
	}
	ctx, end := s.bounded(ctx, orderBounds, &err)
	defer end()
	giveBack, err := s.Charge(ctx, r.room())
	if err != nil {
		return nil, err
	}
	defer giveBack()
	a, err := s.access(ctx, p, contracts.ReadOrders)
	if err != nil {
		return nil, err
	}
	page = &OrderStatusPage{Data: []OrderStatus{}, Query: OrderStatusEcho{AsOf: formatInstant(s.now().UTC().Truncate(contracts.Resolution), zone), Timezone: zone.String()}}
	if a.Visibility.Empty() {
		return page, nil
	}
	orders, err := s.statusOrders(ctx, a.Visibility, r.OrderID)
	if err != nil || len(orders) == 0 {
		return page, err
	}
	ids := make([]contracts.OrderID, len(orders))
	for i := range orders {
		ids[i] = orders[i].OrderID
	}
	var files newestFiles
	if err := inParallel(ctx,
		func(ctx context.Context) (err error) { files, err = s.newestFiles(ctx, a, ids, r.Files); return err },
		func(ctx context.Context) error { return s.orderQuality(ctx, a.Visibility, orders, r.OrderID) },
	); err != nil {
		return nil, err
	}
	for i := range orders {
		status := orders[i].status(zone)
		files.add(&status, zone)
		page.Data = append(page.Data, status)
		page.Query.Files += len(files.of[status.OrderID])
	}
	page.Query.Orders = len(page.Data)
	return page, nil
}

// orderQuality adds to orders what their detail shows, by one walk over all
// pairs.
func (s *Service) orderQuality(ctx context.Context, v Visibility, orders []Order, only contracts.OrderID) error {
	active := withPairs(v, orders)
	if len(active) > 0 {
		if err := s.statusPairs(ctx, v, Selectors{Order: only}, "orderId"); err != nil {
			return err
		}
	}
	if err := s.addMonitoring(ctx, v, orders, active, maxStatusPairs); err != nil {
		if e, ok := errors.AsType[*spanned](err); ok {
			return fault.New(fault.Invalid, CodeOrderCoverageTooBroad, "The orders span more than %d %s. Narrow with orderId.", maxStatusPairs, e.what)
		}
		return err
	}
	beginSummaries(orders)
	if len(active) == 0 {
		return nil
	}
	return s.eachPair(ctx, v, orders, itemPairs{OrderPairsQuery{Orders: active, Limit: statusBatch}, 0}, func(p *OrderPair, judges []*judge) {
		countPair(orders, judges, p)
	})
}

// status is the record of an enriched order, without files.
func (o *Order) status(zone *time.Location) OrderStatus {
	return OrderStatus{
		OrderID: o.OrderID, Alias: orNull(o.Alias), Name: o.Name, Active: o.Active, CreatedAt: formatInstant(o.CreatedAt, zone),
		Health: o.Quality.Health(), Coverage: o.Quality.Coverage(), QualitySummary: o.Quality.Counts(),
		Monitoring: o.Monitoring(zone),
	}
}

// Monitoring is that of the order, if it was requested, with times in a zone.
func (o *Order) Monitoring(zone *time.Location) OrderMonitoring {
	m := OrderMonitoring{Sites: o.Monitored}
	if plan := o.Schedule; plan != nil {
		m.IntervalMinutes, m.LastRunAt, m.NextRunAt = new(plan.IntervalMinutes), formatMaybe(plan.LastRunAt, zone), formatMaybe(plan.NextRunAt, zone)
	}
	return m
}

func formatMaybe(t *time.Time, zone *time.Location) *string {
	if t == nil {
		return nil
	}
	return formatBound(*t, zone)
}

// newestFiles holds the newest files of some orders.
type newestFiles struct {
	requested bool
	of        map[contracts.OrderID][]FileEntry
	count     map[contracts.OrderID]int          // of all, in both directions
	problems  map[contracts.OrderID]*PartProblem // of orders that are given no files for that reason
	refused   *PartProblem                       // reason for all orders
}

// newestFiles reads at most each files per order and direction; for an order
// whose history would be refused, the reason.
func (s *Service) newestFiles(ctx context.Context, a *Access, orders []contracts.OrderID, each int) (found newestFiles, err error) {
	if found.requested = each > 0; !found.requested {
		return found, nil
	}
	if refusal, ok := errors.AsType[*fault.Error](a.refused(contracts.ReadFiles)); ok {
		found.refused = problemOf(refusal)
		return found, nil
	}
	counts, err := s.store.CountFilesOf(ctx, a.Visibility, orders, maxArchiveDocuments+1)
	if err != nil {
		return found, err
	}
	found.of, found.count, found.problems = map[contracts.OrderID][]FileEntry{}, map[contracts.OrderID]int{}, map[contracts.OrderID]*PartProblem{}
	given := map[contracts.OrderID]int{}
	for _, n := range counts {
		if n.tooBroad() {
			found.problems[n.OrderID] = problemOf(historyTooBroad())
		}
		found.count[n.OrderID] += n.Files
		given[n.OrderID] += min(n.Files, each)
	}
	var some []contracts.OrderID
	total := 0
	for _, id := range orders {
		if found.problems[id] == nil && given[id] > 0 {
			some = append(some, id)
			total += given[id]
		}
	}
	if total > maxStatusFiles {
		return found, tooManyFiles()
	}
	if len(some) == 0 {
		return found, nil
	}
	files, err := s.store.NewestFiles(ctx, a.Visibility, some, each, maxStatusFiles+1)
	if err != nil {
		return found, err
	}
	if len(files) > maxStatusFiles { // more arrived after they were counted
		return found, tooManyFiles()
	}
	for _, f := range files {
		found.of[f.OrderID] = append(found.of[f.OrderID], f)
	}
	return found, nil
}

func tooManyFiles() error {
	return fault.New(fault.Invalid, CodeOrderCoverageTooBroad, "The answer would have more than %d archived files. Narrow with orderId, or request fewer files of each order.", maxStatusFiles)
}

// add adds to an order its files, or the reason why they are missing.
func (n *newestFiles) add(to *OrderStatus, zone *time.Location) {
	if !n.requested {
		return
	}
	if to.FilesProblem = cmp.Or(n.refused, n.problems[to.OrderID]); to.FilesProblem != nil {
		return
	}
	files := []OrderFile{}
	for _, f := range n.of[to.OrderID] {
		file := OrderFile{
			Kind: string(f.Direction) + "s", Name: f.Name, Filename: f.Filename, ContentType: f.ContentType(), SizeBytes: f.SizeBytes,
			ArchivedAt: formatInstant(f.ArchivedAt, zone),
		}
		if f.Direction == Exports {
			file.ExportName = new(f.JobName)
		}
		files = append(files, file)
	}
	to.FileCount, to.Files = new(max(n.count[to.OrderID], len(files))), &files
}

package contracts

import (
	"strconv"
	"strings"
	"time"
)

// Order is a monitoring order of a mandate: each of its items at each of its
// sites is a pair of the mandate's scope while the order is active.
type Order struct {
	OrderID   OrderID        `json:"orderId"`
	MandateID MandateID      `json:"mandateId"`
	Alias     string         `json:"alias,omitempty"`
	Name      string         `json:"name"`
	Active    bool           `json:"active"`
	CreatedAt time.Time      `json:"createdAt"`
	Items     []ItemID       `json:"items"`
	Sites     []SiteKey      `json:"sites"`
	Schedule  *Schedule      `json:"schedule,omitempty"`
	Counters  []SiteCounters `json:"counters,omitempty"`
	// Legacy marks an order taken over from an older system, which keeps its own
	// record of where each item belongs to the order.
	Legacy      bool         `json:"legacy,omitempty"`
	Memberships []Membership `json:"memberships,omitempty"` // only meaningful for a legacy order; an item without one is missing there
}

// Membership is where an item of a legacy order is a member, as the older system
// has it: site keys separated by commas. Any text is accepted; Holds parses it,
// and a malformed text holds nothing (QUAL-04).
type Membership struct {
	ItemID ItemID `json:"itemId"`
	Sites  string `json:"sites,omitempty"`
}

// Holds reports whether the text is well formed and names the site.
func (m Membership) Holds(site SiteKey) bool {
	found := false
	for key := range strings.SplitSeq(m.Sites, ",") {
		k := SiteKey(strings.TrimSpace(key))
		if !k.Valid() {
			return false
		}
		found = found || k == site
	}
	return found
}

// Schedule is how often the order's pairs are captured.
type Schedule struct {
	IntervalMinutes int        `json:"intervalMinutes"`
	LastRunAt       *time.Time `json:"lastRunAt,omitempty"`
	NextRunAt       *time.Time `json:"nextRunAt,omitempty"`
}

// SiteCounters is what the source counts about captures of the order's items at
// one site since the current day of the schedule began. Technical retries of a
// crawler are not counted.
type SiteCounters struct {
	Site                   SiteKey `json:"site"`
	ConfiguredObservations int     `json:"configuredObservations"`
	ExpectedProcessedByNow int     `json:"expectedProcessedByNow"`
	ProcessedObservations  int     `json:"processedObservations"`
}

// Consistent reports whether the counts agree with each other: no more is
// processed than is due by now, and no more is due than is configured (QUAL-03).
func (c SiteCounters) Consistent() bool {
	return c.ProcessedObservations <= c.ExpectedProcessedByNow && c.ExpectedProcessedByNow <= c.ConfiguredObservations
}

// Limits of one order. A larger assortment needs several orders.
const (
	MaxItemsPerOrder = 50_000
	MaxSitesPerOrder = 1_000

	maxMembershipBytes = 65_536
)

// Validate returns every fault of the record.
func (o Order) Validate() error {
	var f Faults
	f.id("orderId", uint64(o.OrderID))
	f.id("mandateId", uint64(o.MandateID))
	f.text("alias", o.Alias, false, 128)
	f.text("name", o.Name, true, 256)
	f.Check(!o.CreatedAt.IsZero(), "createdAt: missing")
	f.Check(len(o.Items) <= MaxItemsPerOrder, "items: %d, at most %d", len(o.Items), MaxItemsPerOrder)
	f.Check(len(o.Sites) <= MaxSitesPerOrder, "sites: %d, at most %d", len(o.Sites), MaxSitesPerOrder)
	for i, id := range o.Items {
		f.Check(id != 0, "items[%d]: missing", i)
	}
	for i, s := range o.Sites {
		f.Check(s.Valid(), "sites[%d]: %q is not a site key", i, s)
	}
	if o.Schedule != nil {
		f.Check(o.Schedule.IntervalMinutes > 0, "schedule.intervalMinutes: %d is not positive", o.Schedule.IntervalMinutes)
	}
	f.Check(len(o.Memberships) <= MaxItemsPerOrder, "memberships: %d, at most %d", len(o.Memberships), MaxItemsPerOrder)
	for i, m := range o.Memberships {
		path := "memberships[" + strconv.Itoa(i) + "]"
		f.Check(m.ItemID != 0, "%s.itemId: missing", path)
		f.text(path+".sites", m.Sites, false, maxMembershipBytes)
	}
	for i, c := range o.Counters {
		path := "counters[" + strconv.Itoa(i) + "]"
		f.Check(c.Site.Valid(), "%s.site: %q is not a site key", path, c.Site)
		f.Check(c.ConfiguredObservations >= 0 && c.ExpectedProcessedByNow >= 0 && c.ProcessedObservations >= 0, "%s: a negative count", path)
	}
	return f.Err()
}

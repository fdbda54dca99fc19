package maps

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/contracts/fault"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

// memory is what imports published, as the stream would return it.
type memory struct {
	batches []*contracts.Observations
	stored  []time.Time // when, if known
	left    int         // batches that were skipped
}

func (m *memory) of(site contracts.SiteKey, since time.Time) iter.Seq2[*contracts.Observations, error] {
	return func(yield func(*contracts.Observations, error) bool) {
		for i, b := range m.batches {
			if i < len(m.stored) && m.stored[i].Before(since) {
				m.left++
				continue
			}
			if b.Site == site && !yield(b, nil) {
				return
			}
		}
	}
}

// observed returns the rows of the observations, one line each.
func (m *memory) observed() (lines []string) {
	for _, b := range m.batches {
		for _, o := range b.Observations {
			capture := fmt.Sprintf("%s %d %d %s", b.Site, o.ItemID, o.CapturedAt.Unix(), o.Outcome)
			if len(o.Offers) == 0 {
				lines = append(lines, capture)
			}
			for _, f := range o.Offers {
				lines = append(lines, fmt.Sprintf("%s %s %d", capture, f.Merchant, *f.Price))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// rowsOfFile writes a file of these rows, and returns the request that imports
// it.
func rowsOfFile(t must.TB, file string, rows ...string) Request {
	mapping := must.Get(ParseMapping([]byte(plainMapping)))(t)
	must.Do(t, os.WriteFile(file, []byte("site,key,at,price,stock,seller\n"+strings.Join(rows, "\n")+"\n"), 0o600))
	return Request{File: file, Mapping: mapping, Mandate: "M", Login: "l", PasswordHash: phc}
}

// grows imports rows after what was imported before; every event is encoded and
// decoded as on the wire.
func (m *memory) grows(t must.TB, file string, rows []string, add bool) *Summary {
	r := rowsOfFile(t, file, rows...)
	r.Published, r.AddConflicts, r.Changes = m.of, add, true
	var published []*contracts.Observations
	sum, err := Import(context.Background(), r, func(_ context.Context, e *event.Event) error {
		text, err := event.Encode(e)
		if err != nil {
			return err
		}
		back, err := event.Decode(text)
		if batch, ok := back.Data.(*contracts.Observations); ok && err == nil {
			published = append(published, batch)
		}
		return err
	})
	must.Do(t, err)
	m.batches = append(m.batches, published...)
	return sum
}

// A file that grew, with its rows in any order, adds what is new and doubles
// nothing: the stream holds what one import of the whole file gives.
func TestAFileThatGrew(t *testing.T) {
	dir := t.TempDir()
	effort.Check(t, 25, func(t *rapid.T) {
		file := filepath.Join(dir, "rows.csv")
		all := make([]string, rapid.IntRange(1, 60).Draw(t, "rows"))
		for i := range all {
			all[i] = fmt.Sprintf("s%d,k%d,%d,%d.50,1,m%d", i%2, i%5, 1_700_000_000+i%20, i%7, i) // several merchants at a time
		}
		var grown, whole memory
		for n := 0; n < len(all); {
			n += rapid.IntRange(1, len(all)-n).Draw(t, "more")
			sum := grown.grows(t, file, rapid.Permutation(all[:n]).Draw(t, "order"), false)
			if sum.Accepted != n || sum.Rejected != 0 {
				t.Fatalf("%d rows accepted, %d rejected, of %d", sum.Accepted, sum.Rejected, n)
			}
		}
		whole.grows(t, file, all, false)
		if diff := cmp.Diff(whole.observed(), grown.observed()); diff != "" {
			t.Fatalf("(-at once +grown)\n%s", diff)
		}
	})
}

// A file that grows while it is imported is imported again, in the same run,
// and doubles nothing.
func TestAFileThatGrowsMeanwhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	var all []string
	for i := range 5_000 { // batches are published before the end is read
		all = append(all, fmt.Sprintf("s,k%d,%d,1.50,1,m", i%5, 1_700_000_000+i))
	}
	r := rowsOfFile(t, file, all[:4_999]...)
	var m, whole memory
	r.Published, r.Memory = m.of, NewMemory()
	grow := sync.OnceFunc(func() { rowsOfFile(t, file, all...) })
	try := func() error {
		_, err := Import(t.Context(), r, func(_ context.Context, e *event.Event) error {
			if batch, ok := e.Data.(*contracts.Observations); ok {
				m.batches = append(m.batches, batch)
			}
			grow()
			return nil
		})
		return err
	}
	if err := try(); fault.KindOf(err) != fault.Conflict || len(m.batches) == 0 {
		t.Fatalf("%v, %d batches", err, len(m.batches))
	}
	must.Do(t, try())
	whole.grows(t, file, all, false)
	if diff := cmp.Diff(whole.observed(), m.observed()); diff != "" {
		t.Fatalf("(-at once +again)\n%s", diff)
	}
}

// What was published long before the first capture of a file is not read back,
// and still nothing is doubled: files of single days, imported in any order,
// some of them again.
func TestOldImportsAreNotReadBack(t *testing.T) {
	dir := t.TempDir()
	left := 0
	effort.Check(t, 25, func(t *rapid.T) {
		file := filepath.Join(dir, "rows.csv")
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var m, whole memory
		var all []string
		r := Request{Memory: NewMemory()} // of one run
		for range rapid.IntRange(2, 12).Draw(t, "files") {
			day := rapid.IntRange(0, 20).Draw(t, "day")
			var rows []string
			for i := range rapid.IntRange(1, 6).Draw(t, "rows") {
				at := begin.AddDate(0, 0, day).Add(time.Duration(i) * 3 * time.Hour)
				rows = append(rows, fmt.Sprintf("s,k%d,%d,1.50,1,m", i%2, at.Unix()))
			}
			now := begin.AddDate(0, 0, rapid.IntRange(day, 25).Draw(t, "imported"))
			one := rowsOfFile(t, file, rows...)
			one.Published, one.Memory, one.Now = m.of, r.Memory, func() time.Time { return now }
			if rapid.Bool().Draw(t, "another run") {
				r.Memory = NewMemory()
				one.Memory = r.Memory
			}
			if _, err := Import(context.Background(), one, func(_ context.Context, e *event.Event) error {
				if batch, ok := e.Data.(*contracts.Observations); ok {
					m.batches, m.stored = append(m.batches, batch), append(m.stored, e.ProducedAt)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			all = append(all, rows...)
		}
		slices.Sort(all)
		whole.grows(t, file, slices.Compact(all), false)
		if diff := cmp.Diff(whole.observed(), m.observed()); diff != "" {
			t.Fatalf("(-at once +by days)\n%s", diff)
		}
		left += m.left
	})
	if left == 0 {
		t.Error("everything was read back")
	}
}

// Another price for the same product and time is a conflict, reported by line,
// and is kept only on request.
func TestConflicts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	var m memory
	m.grows(t, file, []string{"s,k,1700000000,1.00,1,m", "s,k,1700000001,2.00,1,m"}, false)
	otherwise := []string{"s,k,1700000000,1.00,1,m", "s,k,1700000001,2.50,1,m", "s,k,1700000002,3.00,1,m"}
	sum := m.grows(t, file, otherwise, false)
	if sum.Known != 1 || sum.Accepted != 2 || len(sum.RejectedBy) != 1 || sum.RejectedBy[0].What != "imported otherwise" || !slices.Equal(sum.RejectedBy[0].Lines, []int{3}) {
		t.Errorf("%s", sum)
	}
	equals.Is(t, 3, len(m.observed()), "observations of 3")
	if sum := m.grows(t, file, otherwise, true); sum.Known != 2 || sum.Accepted != 3 || sum.Rejected != 0 || len(m.observed()) != 4 {
		t.Errorf("added: %s\n%v", sum, m.observed())
	}
}

// A file that grows within a capture adds the new offers, and reports for each
// of the others what it is.
func TestACaptureThatGrew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	for _, c := range []struct {
		name            string
		first, then     []string
		add             bool
		known, accepted int
		rejected        []int // lines
		rows            []string
	}{
		{
			"an offer of another merchant",
			[]string{"s,k,1700000000,1.00,1,a", "s,k,1700000000,2.00,1,b"},
			[]string{"s,k,1700000000,1.00,1,a", "s,k,1700000000,2.00,1,b", "s,k,1700000000,3.00,1,c"},
			false,
			2, 3, nil,
			[]string{"a 100", "b 200", "c 300"},
		},
		{
			"and one that changed",
			[]string{"s,k,1700000000,1.00,1,a", "s,k,1700000000,2.00,1,b"},
			[]string{"s,k,1700000000,1.00,1,a", "s,k,1700000000,2.50,1,b", "s,k,1700000000,3.00,1,c"},
			false,
			1, 2,
			[]int{3},
			[]string{"a 100", "b 200", "c 300"},
		},
		{
			"which is added, and nothing twice",
			[]string{"s,k,1700000000,1.00,1,a", "s,k,1700000000,2.00,1,b"},
			[]string{"s,k,1700000000,1.00,1,a", "s,k,1700000000,2.50,1,b", "s,k,1700000000,3.00,1,c"},
			true,
			1, 3, nil,
			[]string{"a 100", "b 200", "b 250", "c 300"},
		},
		{
			"another price of nobody in particular",
			[]string{"s,k,1700000000,1.00,1,"},
			[]string{"s,k,1700000000,1.00,1,", "s,k,1700000000,1.50,1,"},
			false,
			1, 1,
			[]int{3},
			[]string{"100"},
		},
		{
			"another outcome",
			[]string{"s,k,1700000000,,0,"},
			[]string{"s,k,1700000000,1.00,1,a"},
			false,
			0, 0,
			[]int{2},
			[]string{""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m memory
			m.grows(t, file, c.first, false)
			sum := m.grows(t, file, c.then, c.add)
			var rejected []int
			for _, r := range sum.RejectedBy {
				if r.What != "imported otherwise" {
					t.Errorf("rejected: %+v", r)
				}
				rejected = append(rejected, r.Lines...)
			}
			if sum.Known != c.known || sum.Accepted != c.accepted || !slices.Equal(rejected, c.rejected) {
				t.Errorf("known %d, accepted %d, rejected %v: %s", sum.Known, sum.Accepted, rejected, sum)
			}
			var rows []string
			for _, line := range m.observed() {
				rows = append(rows, strings.Join(strings.Fields(line)[4:], " ")) // merchant and price
			}
			equals.Checkf(t, c.rows, rows, "rows")
		})
	}
}

// What an earlier import of a file ordered stays ordered, even when the file of
// another day no longer lists it.
func TestWhatIsNotListedStaysInView(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	standing := NewStanding("M")
	items := func(gone int, rows ...string) []contracts.ItemID {
		t.Helper()
		r := rowsOfFile(t, file, rows...)
		r.Standing = standing.is
		var order *contracts.Order
		sum, err := Import(t.Context(), r, func(_ context.Context, e *event.Event) error {
			if o, ok := e.Data.(*contracts.Order); ok {
				order = o
				standing.Add(o)
			}
			return nil
		})
		if err != nil || order == nil || sum.Gone != gone || strings.Contains(sum.String(), "not listed") != (gone > 0) {
			t.Fatalf("%v, %+v: %s", err, order, sum)
		}
		return order.Items
	}
	both := items(0, "s,a,1700000000,1.00,1,", "s,b,1700000000,2.00,1,")
	one := items(1, "s,a,1700000001,1.00,1,")
	if len(both) != 2 || !slices.Equal(one, both) {
		t.Errorf("%v, then %v", both, one)
	}
	if three := items(1, "s,b,1700000002,1.00,1,", "s,c,1700000002,1.00,1,"); len(three) != 3 {
		t.Errorf("then %v", three)
	}
	if len(standing.Orders) != 1 {
		t.Errorf("%d orders", len(standing.Orders))
	}
}

// Two rows of a capture may be equal if only columns that are in no offer
// distinguish them: when one was published, only one of them is known.
func TestEqualOffersAreKnownOnce(t *testing.T) {
	offer := contracts.Offer{Merchant: "a"}
	one := contracts.Observation{ItemID: 1, CapturedAt: time.UnixMilli(1_700_000_000_000), Offers: []contracts.Offer{offer}}
	two := one
	two.Offers = []contracts.Offer{offer, offer}
	k := &known{}
	k.add(&one)
	k.settle()
	if got := k.judge(&two); !slices.Equal(got, []verdict{isKnown, isOther}) {
		t.Errorf("one of two was published: %v", got)
	}
	k.add(&one)
	k.settle()
	if got := k.judge(&two); !slices.Equal(got, []verdict{isKnown, isKnown}) {
		t.Errorf("both were published: %v", got)
	}
}

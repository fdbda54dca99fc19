package maps

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"preismon/contracts"
	"preismon/contracts/event"
)

// memory is what imports published, as the stream would give it back.
type memory struct{ batches []*contracts.Observations }

func (m *memory) of(site contracts.SiteKey) iter.Seq2[*contracts.Observations, error] {
	return func(yield func(*contracts.Observations, error) bool) {
		for _, b := range m.batches {
			if b.Site == site && !yield(b, nil) {
				return
			}
		}
	}
}

// observed are the observations, one line each.
func (m *memory) observed() (lines []string) {
	for _, b := range m.batches {
		for _, o := range b.Observations {
			line := fmt.Sprintf("%s %d %d %s", b.Site, o.ItemID, o.CapturedAt.Unix(), o.Outcome)
			for _, f := range o.Offers {
				line += fmt.Sprintf(" %s %d", f.Merchant, *f.Price)
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// grows imports rows after what was imported before; every event goes the way
// of the wire.
func (m *memory) grows(t interface{ Fatal(...any) }, file string, rows []string, add bool) *Summary {
	mapping, err := ParseMapping([]byte(plainMapping))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("site,key,at,price,stock,seller\n"+strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var published []*contracts.Observations
	sum, err := Import(context.Background(), Request{
		File: file, Mapping: mapping, Mandate: "M", Login: "l", PasswordHash: phc, Published: m.of, AddConflicts: add, Changes: true,
	}, func(_ context.Context, e *event.Event) error {
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
	if err != nil {
		t.Fatal(err)
	}
	m.batches = append(m.batches, published...)
	return sum
}

// A file that grew, its rows in whatever order, adds what is new and doubles
// nothing: what is in the stream is what one import of the whole gives.
func TestAFileThatGrew(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		file := filepath.Join(dir, "rows.csv")
		all := make([]string, rapid.IntRange(1, 60).Draw(t, "rows"))
		for i := range all {
			all[i] = fmt.Sprintf("s%d,k%d,%d,%d.50,1,m", i%2, i%5, 1_700_000_000+i, i%7)
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

// Another price for the same product and time is a conflict, by line, and is
// kept only where somebody says so.
func TestConflicts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	var m memory
	m.grows(t, file, []string{"s,k,1700000000,1.00,1,m", "s,k,1700000001,2.00,1,m"}, false)
	otherwise := []string{"s,k,1700000000,1.00,1,m", "s,k,1700000001,2.50,1,m", "s,k,1700000002,3.00,1,m"}
	sum := m.grows(t, file, otherwise, false)
	if sum.Known != 1 || sum.Accepted != 2 || len(sum.RejectedBy) != 1 || sum.RejectedBy[0].What != "imported otherwise" || !slices.Equal(sum.RejectedBy[0].Lines, []int{3}) {
		t.Errorf("%s", sum)
	}
	if n := len(m.observed()); n != 3 {
		t.Errorf("%d observations of 3", n)
	}
	if sum := m.grows(t, file, otherwise, true); sum.Known != 2 || sum.Accepted != 3 || sum.Rejected != 0 || len(m.observed()) != 4 {
		t.Errorf("added: %s\n%v", sum, m.observed())
	}
}

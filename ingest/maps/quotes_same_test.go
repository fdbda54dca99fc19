package maps

import (
	"bufio"
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestQuotesKeepWhatIsRead: a text of proper CSV stays what it is, and so does a
// line that is a row with the marks inside its fields taken as they are.
func TestQuotesKeepWhatIsRead(t *testing.T) {
	read := func(r io.Reader, lazy bool) ([][]string, error) {
		c := csv.NewReader(r)
		c.Comma, c.LazyQuotes = ';', lazy
		return c.ReadAll()
	}
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.StringOf(rapid.SampledFrom([]rune("aé;;\"\"\"\n"))).Draw(t, "text")
		text := "x;y;z\n" + some + "\n1;2;3\n"
		want, err := read(strings.NewReader(text), false)
		if err != nil {
			if want, err = read(strings.NewReader(text), true); err != nil || len(want) != 3 || strings.Contains(some, "\n") {
				t.Skip()
			}
		}
		q := &quotes{r: bufio.NewReader(strings.NewReader(text)), comma: []byte(";"), fields: 3}
		got, err := read(q, false)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	})
}

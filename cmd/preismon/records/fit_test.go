package records_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"preismon/cmd/preismon/records"
)

// TestTablesFit: no line is wider than the terminal, ids stay complete, and
// what was cut for lack of room is reported, once. Output that is not for a
// terminal is not cut.
func TestTablesFit(t *testing.T) {
	rows := []string{
		`{"itemId":"9007199254740993","site":"a-shop-with-a-long-name.example","pzn":null,"price":12.50,"merchant":"Müller & Söhne, Haushaltswaren seit 1881","stars":"4.5","last":"the end"}`,
		`{"itemId":"9007199254740994","site":"桜桜桜桜桜桜桜桜桜桜桜桜桜桜桜.example","pzn":null,"price":null,"merchant":null,"stars":null,"last":"the end"}`,
	}
	for _, c := range []struct {
		width int
		has   []string
		lacks []string
	}{
		{width: 0, has: []string{"a-shop-with-a-long-name.example", "pzn", "the end"}, lacks: []string{"a wider terminal"}},
		{width: 200, has: []string{"a-shop-with-a-long-name.example", "pzn", "the end"}, lacks: []string{"a wider terminal"}},
		{width: 100, has: []string{"9007199254740993", "12.50", "the end", "texts that end in … are cut; no room for pzn:"}, lacks: []string{"\npzn"}},
		{width: 50, has: []string{"9007199254740993", "a-shop-with-a-long-name.…", "12.50", "no room for merchant, stars, last, pzn:"}},
		{width: 3, has: []string{"9007199254740993", "no room for site, price, merchant, stars, last, pzn:"}},
	} {
		got := written(t, rows, func(out *bytes.Buffer) records.Writer { return records.Table(out, false, c.width) })
		lines := strings.Split(strings.TrimSpace(got), "\n")
		for _, line := range lines[:3] {
			if n := uniseg.StringWidth(line); c.width > 20 && n > c.width {
				t.Errorf("%d cells in a terminal of %d: %s", n, c.width, line)
			}
		}
		for _, want := range c.has {
			if !strings.Contains(got, want) {
				t.Errorf("%d: no %q in\n%s", c.width, want, got)
			}
		}
		for _, no := range c.lacks {
			if strings.Contains(got, no) {
				t.Errorf("%d: %q in\n%s", c.width, no, got)
			}
		}
	}
}

package records_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"preismon/cmd/preismon/records"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

var update = flag.Bool("update", false, "write the golden files")

var fields = []string{"itemId", "site", "price", "priceMoney", "merchant", "isPrime", "customerData", "orderIds"}

// sample has the difficult cases: null, absent and empty; formulas, quotes,
// line ends, wide and hidden characters.
var sample = []string{
	`{"itemId":"4711","site":"shop-one","price":12.50,"priceMoney":{"value":12.50,"amountMinor":1250,"currencyCode":"EUR"},"merchant":"Shop, \"One\"","isPrime":false,"customerData":{"a":"b"},"orderIds":["1","2"]}`,
	`{"itemId":"4712","site":"shop-one","price":null,"priceMoney":null,"merchant":null,"availability":"UNAVAILABLE"}`,
	`{"itemId":"4713","site":"shop-two","price":-1.5,"merchant":""}`,
	`{"itemId":"4714","site":"shop-two","merchant":"=HYPERLINK(\"http://x\")"}`,
	`{"itemId":"4715","site":"shop-two","merchant":"+1"}`,
	`{"itemId":"4716","site":"shop-two","merchant":"-1"}`,
	`{"itemId":"4717","site":"shop-two","merchant":"@SUM(A1)"}`,
	`{"itemId":"4718","site":"shop-two","merchant":"\t=1"}`,
	`{"itemId":"4719","site":"shop-two","merchant":"\r=1"}`,
	`{"itemId":"4720","site":"shop-two","merchant":"'s-Hertogenbosch"}`,
	`{"itemId":"4721","site":"shop-two","merchant":"a=1; b"}`,
	`{"itemId":"4722","site":"shop-two","merchant":"桜 Electronics\nK.K. \u001b[31mred\u202e"}`,
	`{"itemId":"4723","site":"shop-two","merchant":"A name that is much longer than any name of a merchant has to be"}`,
}

func written(t *testing.T, rows []string, to func(*bytes.Buffer) records.Writer) string {
	t.Helper()
	var out bytes.Buffer
	w := to(&out)
	for _, row := range rows {
		line := []byte(row)
		must.Do(t, w.Write(line))
		clear(line) // the caller reuses it
	}
	must.Do(t, w.Close())
	return out.String()
}

func asCSV(out *bytes.Buffer) records.Writer { return records.CSV(out, fields) }

func asArrow(w io.Writer, fields []string) records.Writer {
	return records.Arrow(w, query.Columns(fields))
}

func asParquet(w io.Writer, fields []string) records.Writer {
	return records.Parquet(w, query.Columns(fields))
}

func TestGoldens(t *testing.T) {
	for name, to := range map[string]func(*bytes.Buffer) records.Writer{
		"sample.csv":      asCSV,
		"sample.ndjson":   func(out *bytes.Buffer) records.Writer { return records.NDJSON(out) },
		"sample.txt":      func(out *bytes.Buffer) records.Writer { return records.Table(out, false, 0) },
		"sample.ansi.txt": func(out *bytes.Buffer) records.Writer { return records.Table(out, true, 0) },
	} {
		got := written(t, sample, to)
		file := filepath.Join("testdata", name)
		if *update {
			must.Do(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want := must.Get(os.ReadFile(file))(t)
		equals.Checkf(t, string(want), got, "%s", name)
	}
}

// TestNone: without records, CSV has a header, and the other formats are empty.
func TestNone(t *testing.T) {
	if got := written(t, nil, asCSV); !strings.HasPrefix(got, "itemId,site,price,priceMoney.amountMinor,") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	for _, to := range []func(*bytes.Buffer) records.Writer{
		func(out *bytes.Buffer) records.Writer { return records.NDJSON(out) },
		func(out *bytes.Buffer) records.Writer { return records.Table(out, true, 0) },
	} {
		if got := written(t, nil, to); got != "" {
			t.Errorf("%q", got)
		}
	}
}

// TestLongTable: rows after those that determine the widths are written, too.
func TestLongTable(t *testing.T) {
	rows := slices.Repeat(sample[:3], 100)
	got := written(t, rows, func(out *bytes.Buffer) records.Writer { return records.Table(out, false, 0) })
	equals.Is(t, 301, strings.Count(got, "\n"), "lines")
}

// TestLiveLines: a record does not wait for later ones.
func TestLiveLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := records.NDJSON(&out)
		must.Do(t, w.Write([]byte(sample[0])))
		time.Sleep(time.Second)
		synctest.Wait()
		if got := out.String(); got != sample[0]+"\n" {
			t.Errorf("%q", got)
		}
	})
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestFullDisk: what could not be written is reported by Close at the latest.
func TestFullDisk(t *testing.T) {
	for _, w := range []records.Writer{records.NDJSON(fullDisk{}), records.CSV(fullDisk{}, fields), records.Table(fullDisk{}, false, 0), asArrow(fullDisk{}, fields[:1]), asParquet(fullDisk{}, fields[:1])} {
		err := w.Write([]byte(`{"itemId":"4711"}`))
		if err = errors.Join(err, w.Close()); !errors.Is(err, errFull) {
			t.Errorf("%T: %v", w, err)
		}
	}
}

package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The shape of a file of observed prices: nearly all rows are of one shop, which
// is captured once a day, and the rows of a product are next to each other. The
// mapping knows the shops.
const (
	importProducts = 4_700 // of the large shop
	importOfShop   = 80    // products of a small one
)

var importShops = []string{"lagallega.com.ar", "apteekki360.fi", "bjornborg.com", "fitnesstukku.fi", "ruohonjuuri.fi", "sinunapteekki.fi", "tokmanni.fi"}

// importedRows finds how many rows the import reports.
var importedRows = regexp.MustCompile(`rows +([0-9,]+): ([0-9,]+) accepted`)

// measureImport imports a file of observed prices with the command into a new
// folder, until all of it can be queried: through the stream and the projector.
func (r *run) measureImport(ctx context.Context) {
	file, note := r.Import, "the file that was given"
	if file == "" {
		file, note = filepath.Join(r.folder, "observations.csv.gz"), "a file made for it"
		r.failed(makeImport(file, r.size.importDays))
	}
	t := r.table("Import", note+"; from the start of the command until everything can be queried")
	s := r.compare(ctx, t, 0, r.size.drainRounds, contestant{"preismon import", func(ctx context.Context) done {
		return r.importOnce(ctx, file)
	}})[0]
	r.put("import_rows_per_second", "`preismon import` of observed prices, from the file to what can be queried", "rows/s",
		spread{s.Rate(), float64(s.Rows) / s.Greatest(), float64(s.Rows) / s.Least()}, 200_000, false, note)
}

// importOnce imports a file into a new folder.
func (r *run) importOnce(ctx context.Context, file string) (d done) {
	data := filepath.Join(r.folder, "data")
	defer os.RemoveAll(data) //nolint:errcheck // it goes with the part's folder
	cmd := exec.CommandContext(ctx, r.Program, "import", file, "--map", "observations", "--mandate", "Bench", "--login", "bench@example.com",
		"--data-dir", data, "--rejects", filepath.Join(r.folder, "rejects.ndjson"))
	cmd.Env = append(os.Environ(), "PREISMON_PASSWORD=correct horse battery")
	text := ""
	r.up(ctx, data, func(*node) {
		began := time.Now()
		text = r.said(cmd)
		d.took = time.Since(began)
	})
	found := importedRows.FindStringSubmatch(text)
	if found == nil {
		r.failed(fmt.Errorf("the import said %q", text))
		return d
	}
	var err error
	d.rows, err = strconv.ParseInt(strings.ReplaceAll(found[2], ",", ""), 10, 64)
	r.failed(err)
	return d
}

// makeImport writes a file of observed prices.
func makeImport(name string, days int) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	packed := gzip.NewWriter(f)
	w := bufio.NewWriter(packed)
	fmt.Fprintln(w, "source,site,product_key,ean,name,brand,category,captured_at,price,currency,regular_price,unit_price,unit,quantity,available,valid_from,valid_to,url")
	for shop, site := range importShops {
		products, currency := importOfShop, "EUR"
		if shop == 0 {
			products, currency = importProducts, "ARS"
		}
		for product := range products {
			ean := ean13(779_000_000_000 + uint64(product)*997 + uint64(shop))
			price := 100 + product*37%5_000
			for day := range days {
				if (product+day)%9 == 0 {
					price += product%11 - 5
				}
				fmt.Fprintf(w, "bench,%s,%s,%s,product %d with a longer name x %d gr.,,Lacteos Y Frescos,%s,%d.%02d,%s,,,,,,,,\n", site, ean, ean, product, 100+product%900,
					dataEnd.AddDate(0, 0, day-days).Add(time.Duration(product%60)*time.Minute).Format(time.RFC3339), price/100, price%100, currency)
			}
		}
	}
	return errors.Join(w.Flush(), packed.Close())
}

// ean13 returns a number of twelve digits with its check digit.
func ean13(twelve uint64) string {
	sum := uint64(0)
	for n, rest := uint64(3), twelve; rest > 0; n, rest = 4-n, rest/10 {
		sum += n * (rest % 10)
	}
	return fmt.Sprintf("%012d%d", twelve, (10-sum%10)%10)
}

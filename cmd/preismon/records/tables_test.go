package records_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"preismon/cmd/preismon/records"
	"preismon/contracts/openapi/openapitest"
	"preismon/deploy/testserver/must"
	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/objects"
	"preismon/query/table/tabletest"
)

var (
	everything = query.Include{Coverage: true, OrderIDs: true, CustomerData: true, ExportFields: true, Identity: true}
	all        = everything.Fields()
)

// TestColumnsAreTheContract: each field of the contract has a column of its
// type, and none can be both null and absent, because the two would be
// indistinguishable.
func TestColumnsAreTheContract(t *testing.T) {
	fields := openapitest.Document().Components.Schemas["Result"].Value
	optional := []string{"isPrime", "isBuyBox", "productRating", "referencePrice", "referencePriceMoney"}
	if len(all) != len(fields.Properties) {
		t.Errorf("%d columns, the contract has %d fields", len(all), len(fields.Properties))
	}
	for _, c := range query.Columns(all) {
		p := fields.Properties[c.Name]
		if p == nil {
			t.Errorf("%s is in no contract", c.Name)
			continue
		}
		if kind, nullable := kindOf(p.Value); kind != c.Kind || nullable != c.Nullable || c.Optional != slices.Contains(optional, c.Name) || c.Nullable && c.Optional {
			t.Errorf("%+v, in the contract kind %d, nullable %v", c, kind, nullable)
		}
	}
	entry := openapitest.Document().Components.Schemas["ReferencePrice"].Value
	for _, c := range query.Columns([]string{"customerReferencePrices"})[0].Members[0].Members {
		if p := entry.Properties[c.Name]; p == nil || c.Optional == slices.Contains(entry.Required, c.Name) || c.Nullable {
			t.Errorf("%+v", c)
		}
	}
}

func kindOf(s *openapi3.Schema) (kind frame.Kind, nullable bool) {
	for _, one := range s.AnyOf {
		if one.Value.Type.Is("null") {
			nullable = true
			continue
		}
		kind, _ = kindOf(one.Value)
	}
	switch {
	case len(s.AnyOf) > 0:
		return kind, nullable
	case s.Type.Includes("string") && s.Format == "date-time":
		kind = frame.Instant
	case s.Type.Includes("string"):
		kind = frame.Text
	case s.Type.Includes("number"):
		kind = frame.Number
	case s.Type.Includes("integer"):
		kind = frame.Integer
	case s.Type.Includes("boolean"):
		kind = frame.Boolean
	case s.Type.Includes("array"):
		kind = frame.List
	case s.AdditionalProperties.Schema != nil:
		kind = frame.Words
	default:
		kind = frame.Object
	}
	return kind, s.Type.Includes("null")
}

// full has everything that a row can have, and bare the least.
var (
	full = `{"itemId":"18446744073709551615","site":"shop-one","capturedAt":"2026-03-29T03:00:00.250+02:00","availability":"AVAILABLE","price":12.50,"priceMoney":{"value":12.50,"amountMinor":1250,"currencyCode":"EUR"},"currencyCode":"EUR","merchant":"=1+1","ean":"4006381333931","pzn":"01234562","asin":"B000000001","asinLocale":"de","productName":"桜 \"x\"\n\\","brand":"'s","manufacturer":"\u0041","orderIds":["5","6"],"customerData":{"shelf":"A 4","Größe":"\t1"},"coverageState":"PRICE_OBSERVED","lastProcessedAt":"2026-03-29T03:00:01.000+02:00","productUrl":"https://x.example/?a=1,2","offerTitle":"a; b ","shippingCost":0.00,"shippingCostMoney":{"value":0.00,"amountMinor":0,"currencyCode":"EUR"},"totalPrice":12.50,"totalPriceMoney":{"value":12.50,"amountMinor":1250,"currencyCode":"EUR"},"deliveryText":"-","isPrime":true,"isBuyBox":false,"productRating":{"value":4.5,"scale":5},"customerReferencePrices":[{"value":9.99,"amountMinor":999,"currencyCode":"EUR","appliesToSite":"shop-one","referenceQuantity":"1","priceType":"RRP"}],"referencePrice":9.99,"referencePriceMoney":{"value":9.99,"amountMinor":999,"currencyCode":"EUR"}}`
	bare = `{"itemId":"1","site":"s","capturedAt":"2026-03-29T00:59:59.999Z","availability":"UNKNOWN","price":null,"priceMoney":null,"currencyCode":null,"merchant":null,"ean":null,"pzn":null,"asin":null,"asinLocale":null,"productName":null,"brand":null,"manufacturer":null,"orderIds":[],"customerData":{},"coverageState":"UNKNOWN","lastProcessedAt":null,"productUrl":null,"offerTitle":null,"shippingCost":null,"shippingCostMoney":null,"totalPrice":null,"totalPriceMoney":null,"deliveryText":null,"customerReferencePrices":[]}`
)

type tableForm struct {
	name  string
	write func(io.Writer) records.Writer
	read  func([]byte) ([]tabletest.Record, error)
}

var forms = []tableForm{
	{"ndjson", func(w io.Writer) records.Writer { return records.NDJSON(w) }, tabletest.Lines},
	{"csv", func(w io.Writer) records.Writer { return records.CSV(w, all) }, func(b []byte) ([]tabletest.Record, error) { return tabletest.CSV(b, all) }},
	{"arrow", func(w io.Writer) records.Writer { return records.Arrow(w, query.Columns(all)) }, func(b []byte) ([]tabletest.Record, error) { return tabletest.Arrow(b, time.UTC) }},
	{"parquet", func(w io.Writer) records.Writer { return records.Parquet(w, query.Columns(all)) }, func(b []byte) ([]tabletest.Record, error) { return tabletest.Parquet(b, time.UTC) }},
}

// utc returns rows with their times as readers of formats other than CSV have
// them.
func utc(rows string) string {
	return strings.NewReplacer("2026-03-29T03:00:00.250+02:00", "2026-03-29T01:00:00.250Z", "2026-03-29T03:00:01.000+02:00", "2026-03-29T01:00:01.000Z").Replace(rows)
}

// TestRowsComeBack: what was written is read back, however the rows are passed
// to the writer, and null and absent stay distinct.
func TestRowsComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var many []string
	for range 9_000 { // more than a batch
		many = append(many, []string{full, bare}[r.IntN(2)])
	}
	for name, rows := range map[string][]string{"none": nil, "full": {full}, "bare": {bare}, "mixed": {bare, full, full, bare, bare}, "many": many} {
		want := must.Get(tabletest.JSON([]byte(strings.Join(rows, ","))))(t)
		wantUTC := must.Get(tabletest.JSON([]byte(utc(strings.Join(rows, ",")))))(t)
		for _, f := range forms {
			var out bytes.Buffer
			w := f.write(&out)
			atOnce := 1 + r.IntN(2_000)
			if f.name == "ndjson" { // whose records are not taken apart
				atOnce = 1
			}
			for part := range slices.Chunk(rows, atOnce) {
				between := []string{",", "\n", "\r\n", ""}[r.IntN(4)]
				given := []byte(strings.Join(part, between) + strings.Trim(between, ","))
				if err := w.Write(given); err != nil {
					t.Fatal(f.name, name, err)
				}
				clear(given) // the caller reuses it
				if r.IntN(2) == 0 {
					must.Do(t, w.Flush())
				}
			}
			must.Do(t, w.Close())
			got, err := f.read(out.Bytes())
			if err != nil {
				t.Fatal(f.name, name, err)
			}
			want := want
			if f.name == "arrow" || f.name == "parquet" {
				want = wantUTC
			}
			if !reflect.DeepEqual(want, got) { // cmp takes ten times as long
				t.Errorf("%s, %s (-want +got): %s", f.name, name, cmp.Diff(want, got))
			}
		}
	}
}

// TestUnended: a table that was not closed is invalid, where the format can
// show it.
func TestUnended(t *testing.T) {
	for _, f := range forms[2:] {
		var out bytes.Buffer
		w := f.write(&out)
		for range 3 {
			must.Do(t, w.Write([]byte(full)))
		}
		must.Do(t, w.Flush())
		if got, err := f.read(out.Bytes()); err == nil {
			t.Errorf("%s: %d rows", f.name, len(got))
		}
	}
}

// TestUnfit: typed tables refuse rows that lack something, and those of the
// server rows of which something would be lost.
func TestUnfit(t *testing.T) {
	for name, row := range map[string]string{
		"unknown field":  strings.Replace(bare, `"site"`, `"sight":1,"site"`, 1),
		"no field":       strings.Replace(bare, `"site":"s",`, "", 1),
		"null":           strings.Replace(bare, `"site":"s"`, `"site":null`, 1),
		"number as text": strings.Replace(full, `"price":12.50`, `"price":"12.50"`, 1),
		"text as number": strings.Replace(full, `"merchant":"=1+1"`, `"merchant":1`, 1),
		"no integer":     strings.Replace(full, `"amountMinor":1250`, `"amountMinor":1250.5`, 1),
		"no time":        strings.Replace(full, "2026-03-29T03:00:00.250", "2026-02-29T03:00:00.250", 1),
		"no list":        strings.Replace(full, `["5","6"]`, `"5"`, 1),
		"no object":      strings.Replace(bare, `"priceMoney":null`, `"priceMoney":1`, 1),
		"cut":            bare[:len(bare)-1],
		"no row":         `[1]`,
	} {
		for _, f := range forms[2:] {
			if err := f.write(io.Discard).Write([]byte(row)); (err == nil) != (name == "unknown field") {
				t.Errorf("%s, %s: %v", f.name, name, err)
			}
		}
		columns := query.Columns(all)
		if err := objects.Batches(table.Parquet(io.Discard, columns, table.Unsorted), columns, 1).Write([]byte(row)); err == nil {
			t.Errorf("a table of the server takes %s", name)
		}
	}
}

// TestNewFields: an unknown field of a newer server is kept as its JSON.
func TestNewFields(t *testing.T) {
	var out bytes.Buffer
	w := records.Arrow(&out, query.Columns([]string{"itemId", "unheardOf"}))
	for _, row := range []string{`{"itemId":"1","unheardOf":{"a": [1]}}`, `{"itemId":"2"}`} {
		must.Do(t, w.Write([]byte(row)))
	}
	must.Do(t, w.Close())
	got, err := tabletest.Arrow(out.Bytes(), time.UTC)
	want := []tabletest.Record{{"itemId": "1", "unheardOf": `{"a":[1]}`}, {"itemId": "2", "unheardOf": nil}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestFormulas: no text cell begins with what a spreadsheet would interpret as
// a formula, the text can be recovered, and numbers stay numbers.
func TestFormulas(t *testing.T) {
	for _, text := range []string{
		"=1", "+1", "-1", "@A1", "\t=1", "\r=1", "\n=1", " =1", "  '", "'", "''=", "＝1", "＋1", "－1", "＠1", "=HYPERLINK(\"http://x\",1)", "a=1", "日本", "", " ",
	} {
		row := must.Get(json.Marshal(map[string]any{"merchant": text, "price": -1.5}))(t)
		var out bytes.Buffer
		w := records.CSV(&out, []string{"merchant", "price"})
		must.Do(t, w.Write(row))
		must.Do(t, w.Close())
		got := must.Get(tabletest.CSV(out.Bytes(), []string{"merchant", "price"}))(t)
		if back, _ := got[0]["merchant"].(string); back != text || got[0]["price"] != -1.5 {
			t.Errorf("%q came back as %v", text, got[0])
		}
		cell := strings.TrimPrefix(strings.TrimPrefix(out.String(), "merchant,price\r\n"), `"`)
		begins := strings.TrimLeft(cell, " ")
		for _, sign := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"} {
			if strings.HasPrefix(begins, sign) {
				t.Errorf("%q begins a formula", out.String())
			}
		}
	}
}

// FuzzRows: any JSON object that encoding/json accepts is a row with the same
// members; other input causes no panic.
func FuzzRows(f *testing.F) {
	f.Add(full)
	f.Add(bare)
	f.Add(`{"itemId" : "\"\\" , "x":{"y":[{}, "]}"]} }`)
	f.Add(`{"itemId":"\ud800","merchant":"\\"}`)
	f.Add("{\"itemId\":\"0\xe8\",\"merchant\":\"\xe8\x80\"}")
	f.Fuzz(func(t *testing.T, row string) {
		var want struct {
			ItemID   *string `json:"itemId"`
			Merchant *string `json:"merchant"`
		}
		var members map[string]json.RawMessage
		valid := json.Unmarshal([]byte(row), &members) == nil && members != nil
		exact := valid && !strings.Contains(strings.ReplaceAll(row, `\"`, ""), `\`) && unique(row)
		for name := range members {
			exact = exact && (name == "itemId" || name == "merchant" || !strings.EqualFold(name, "itemId") && !strings.EqualFold(name, "merchant"))
		}
		exact = exact && json.Unmarshal([]byte(row), &want) == nil
		var out bytes.Buffer
		w := records.CSV(&out, []string{"itemId", "merchant"})
		if err := w.Write([]byte(row)); err != nil {
			if valid && exact {
				t.Fatalf("%s: %v", row, err)
			}
			return
		}
		must.Do(t, w.Close())
		if !exact {
			return
		}
		got, err := tabletest.CSV(out.Bytes(), []string{"itemId", "merchant"})
		if err != nil || len(got) != 1 {
			t.Fatalf("%q: %v", out.String(), err)
		}
		for name, text := range map[string]*string{"itemId": want.ItemID, "merchant": want.Merchant} {
			back, _ := got[0][name].(string)
			if text == nil {
				text = new(string)
			}
			if crlf := strings.NewReplacer("\r\n", "\n"); crlf.Replace(back) != crlf.Replace(*text) { // the CSV reader turns it into LF
				t.Errorf("%s: %s is %q", row, name, back)
			}
		}
	})
}

// unique reports whether no name occurs twice, as far as that matters.
func unique(row string) bool {
	return strings.Count(row, `"itemId"`) <= 1 && strings.Count(row, `"merchant"`) <= 1
}

// TestMemoryIsBounded: however many rows are written, only a part of them is in
// memory.
func TestMemoryIsBounded(t *testing.T) {
	rows, live := pieceOfStream(), func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, f := range forms[1:] {
		before, most := live(), int64(0)
		w := f.write(io.Discard)
		for i := range 80 { // 90 MB of JSON
			must.Do(t, w.Write(rows))
			if i%10 == 9 {
				most = max(most, live()-before)
			}
		}
		must.Do(t, w.Close())
		t.Logf("%s: %.1f MiB", f.name, float64(most)/(1<<20))
		if most > 32<<20 {
			t.Errorf("%s holds %d bytes", f.name, most)
		}
	}
}

// pieceOfStream returns as many rows as a stream passes on at once.
func pieceOfStream() []byte {
	var b bytes.Buffer
	usual := strings.NewReplacer(`桜 \"x\"\n\\`, "Schmerztabletten 400 mg, 20 Stück", `\u0041`, "Maker GmbH", `\t1`, "1").Replace(full) // shops write few escapes
	for i := range 600 {
		b.WriteString(strings.NewReplacer("18446744073709551615", fmt.Sprint(4711+i), "1250", fmt.Sprint(1250+i%37)).Replace(usual))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"preismon/cmd/preismon/records"
	"preismon/query/frame"
)

// cell is a column of a table for people, with its text.
type cell struct{ name, text string }

// shape returns the cells of a record, the most important column first: a narrow
// terminal leaves out the last ones.
type shape func(r record, product func(itemID string) string) []cell

// record is a record of the server, or an object in it. A field has a path, like
// "cheapest.site"; one that is null is as if it were not there.
type record map[string]any

func (r record) at(path string) any {
	name, rest, deeper := strings.Cut(path, ".")
	if deeper {
		return r.of(name).at(rest)
	}
	return r[name]
}

// of returns an object in the record; nil: there is none.
func (r record) of(path string) record {
	object, _ := r.at(path).(map[string]any)
	return object
}

// text returns a field as it is written; empty: there is none.
func (r record) text(path string) string {
	if v := r.at(path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// count returns a field that is a number of things.
func (r record) count(path string) int64 {
	n, _ := strconv.ParseInt(r.text(path), 10, 64) // 0: there is none
	return n
}

// money returns an amount with the currency of the record; empty: there is none.
func (r record) money(path string) string {
	if amount := r.text(path); amount != "" {
		return strings.TrimSpace(amount + " " + r.text("currencyCode"))
	}
	return ""
}

// change returns a percentage with its sign; empty: there is none.
func (r record) change(path string) string {
	switch n := r.text(path); {
	case n == "":
		return ""
	case !strings.HasPrefix(n, "-"):
		return "+" + n + " %"
	default:
		return n + " %"
	}
}

// offer returns the site of an offer with its merchant, if it has one.
func (r record) offer(path string) string {
	o := r.of(path)
	if merchant := o.text("merchant"); merchant != "" {
		return o.text("site") + ", " + merchant
	}
	return o.text("site")
}

// list returns what of says about each element of a list.
func (r record) list(path string, of func(element any) string) string {
	all, _ := r.at(path).([]any)
	texts := make([]string, len(all))
	for i, element := range all {
		texts[i] = of(element)
	}
	return strings.Join(texts, ", ")
}

// listForPeople is like list, but its tables have a shape of their own that
// names products, and reason is called when there are no rows.
func (f recordFlags) listForPeople(ctx context.Context, std streams, r *remote, path string, params url.Values, fields []string, columns []frame.Column, of shape, reason func()) error {
	if f.Format != "table" && (f.Format != "auto" || !isTerminal(std.out)) {
		out, err := f.writer(std, fields, columns)
		if err != nil {
			return err
		}
		return r.list(ctx, f.Limit, path, params, &saysNone{Writer: out, says: reason})
	}
	names := r.products(ctx)
	defer names.stop()
	shaped := func(yield func(json.RawMessage, error) bool) {
		for record, err := range firstOf(r.List(ctx, path, params), f.Limit) {
			if err == nil {
				record, err = names.shaped(of, record)
			}
			if !yield(record, err) {
				return
			}
		}
	}
	return r.writeList(shaped, &saysNone{Writer: forPeople(std, records.Table), says: func() {
		std.saysNoRows()
		reason()
	}})
}

// products provides the names of products, which are read only as far as they are needed.
type products struct {
	next  func() (json.RawMessage, error, bool)
	stop  func()
	known map[string]string
	err   error
}

func (r *remote) products(ctx context.Context) *products {
	next, stop := iter.Pull2(r.List(ctx, "/v1/items", url.Values{"limit": {"1000"}}))
	return &products{next: next, stop: stop, known: map[string]string{}}
}

// of returns the name of a product, otherwise its code; empty: it has neither.
func (p *products) of(id string) string {
	for {
		if name, ok := p.known[id]; ok || id == "" || p.err != nil {
			return name
		}
		row, err, ok := p.next()
		var item struct{ ItemID, Name, EAN, PZN, ASIN string } // null is empty
		if err == nil && ok {
			err = json.Unmarshal(row, &item)
		}
		switch {
		case err != nil:
			p.err = err
		case !ok:
			p.known[id] = ""
		default:
			for _, name := range []string{item.Name, item.EAN, item.PZN, item.ASIN} {
				if p.known[item.ItemID] == "" {
					p.known[item.ItemID] = name
				}
			}
		}
	}
}

func (p *products) shaped(of shape, row json.RawMessage) (json.RawMessage, error) {
	var r record
	decoder := json.NewDecoder(bytes.NewReader(row))
	decoder.UseNumber() // as they are written
	if err := decoder.Decode(&r); err != nil {
		return nil, err
	}
	cells := of(r, p.of)
	if p.err != nil {
		return nil, p.err
	}
	names, texts := make([]string, len(cells)), make([]any, len(cells)) // an empty text stays null
	for i, c := range cells {
		names[i] = c.name
		if c.text != "" {
			texts[i] = c.text
		}
	}
	return object(names, texts)
}

// object returns a JSON object with the names in their order.
func object(names []string, values []any) (json.RawMessage, error) {
	b := []byte{'{'}
	for i, name := range names {
		value, err := json.Marshal(values[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':') // a plain word, as all columns here
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

package query

import (
	"encoding/json"
	"strconv"

	"preismon/contracts"
	"preismon/query/frame"
)

// itemSource depends only on what is known of the row's item, so that its JSON
// is the same in all rows of the item.
type itemSource interface {
	source
	appendJSON(out []byte, p *itemParts) []byte
}

// penOf writes adjacent fields of the item.
func (e *enrichment) penOf(run []itemSource, keys []string) pen {
	n := e.fragments
	e.fragments++
	return func(out []byte, _ *Block, i int) []byte {
		p := e.rows[i]
		if p.runs == nil {
			p.runs = make([][]byte, e.fragments)
			e.loaded += 24 * int64(e.fragments)
		}
		if p.runs[n] == nil {
			for k, s := range run {
				p.runs[n] = s.appendJSON(append(p.runs[n], keys[k]...), p)
			}
			e.loaded += int64(cap(p.runs[n]))
		}
		return append(out, p.runs[n]...)
	}
}

// itemText is a text of the item's record; an empty one is null (choices 3).
type itemText uint8

func (t itemText) of(r *contracts.Item) string {
	return [...]string{r.EAN, r.PZN, r.ASIN, r.ASINLocale, r.Name, r.Brand, r.Manufacturer}[t]
}

func (t itemText) appendJSON(out []byte, p *itemParts) []byte {
	return appendTextOrNull(out, []byte(t.of(&p.record)))
}

func (t itemText) pen(e *rowEncoder, key string) pen {
	return e.rich.penOf([]itemSource{t}, []string{key})
}

func (t itemText) vector(m *batcher, v *frame.Vector) {
	all := own(v)
	v.Valid = v.Valid.Room(len(m.at))
	some := false
	for k, i := range m.at {
		s := t.of(&m.e.rich.rows[i].record)
		all.Append(s)
		if s == "" {
			some = true
		} else {
			v.Valid.Set(k)
		}
	}
	v.Valid = missing(v.Valid, some)
	v.Values = clean(all)
}

// customerData are the customer's own fields of the item.
type customerData struct{}

func (customerData) appendJSON(out []byte, p *itemParts) []byte {
	if p.fields == nil {
		return append(out, "{}"...)
	}
	return append(out, p.fields...)
}

func (c customerData) pen(e *rowEncoder, key string) pen {
	return e.rich.penOf([]itemSource{c}, []string{key})
}

func (c customerData) vector(m *batcher, v *frame.Vector) {
	if m.flat {
		all := own(v)
		for _, i := range m.at {
			from := len(all.Buf)
			all.Buf = c.appendJSON(all.Buf, m.e.rich.rows[i])
			all.End(from)
		}
		return
	}
	v.Members, v.Ends = members(v, 2), v.Ends[:0]
	names, texts := own(&v.Members[0]), own(&v.Members[1])
	for _, i := range m.at {
		words := m.e.rich.rows[i].customer
		for k := 0; k < len(words); k += 2 {
			names.Append(words[k])
			texts.Append(words[k+1])
		}
		v.Ends = append(v.Ends, int32(names.Len()))
	}
	v.Members[0].Values, v.Members[1].Values = clean(names), clean(texts)
}

// orderTexts holds the orders of a pair.
type orderTexts struct {
	ids  []string
	json []byte
}

var noOrders = &orderTexts{json: []byte("[]")}

func orderTextsOf(ids []contracts.OrderID) *orderTexts {
	t := &orderTexts{ids: []string{}}
	for _, id := range ids {
		t.ids = append(t.ids, strconv.FormatUint(uint64(id), 10))
	}
	t.json, _ = json.Marshal(t.ids) // texts can always be encoded
	return t
}

// orderIDs are the caller's orders that contain the row's pair.
type orderIDs struct{}

func (orderIDs) of(e *rowEncoder, b *Block, i int) *orderTexts {
	if t := e.rich.orders[b.pair(i)]; t != nil {
		return t
	}
	return noOrders
}

func (o orderIDs) pen(e *rowEncoder, key string) pen {
	return func(out []byte, b *Block, i int) []byte {
		return append(append(out, key...), o.of(e, b, i).json...)
	}
}

func (o orderIDs) vector(m *batcher, v *frame.Vector) {
	if m.flat {
		all := own(v)
		for _, i := range m.at {
			from := len(all.Buf)
			all.Buf = append(all.Buf, o.of(m.e, m.b, int(i)).json...)
			all.End(from)
		}
		return
	}
	v.Members, v.Ends = members(v, 1), v.Ends[:0]
	all := own(&v.Members[0])
	for _, i := range m.at {
		for _, id := range o.of(m.e, m.b, int(i)).ids {
			all.Append(id)
		}
		v.Ends = append(v.Ends, int32(all.Len()))
	}
}

func (b *Block) pair(i int) contracts.Pair {
	return contracts.Pair{Item: contracts.ItemID(b.Item[i]), Site: contracts.SiteKey(b.Site.At(i))}
}

// lastProcessed is when the row's pair was last processed.
type lastProcessed struct{}

func (lastProcessed) pen(e *rowEncoder, key string) pen {
	none, some := key+"null", key+`"`
	return func(out []byte, b *Block, i int) []byte {
		at, ok := e.rich.lastProcessed(b.pair(i))
		if !ok {
			return append(out, none...)
		}
		return append(e.zone.append(append(out, some...), at), '"')
	}
}

func (lastProcessed) vector(m *batcher, v *frame.Vector) {
	v.Valid, v.Ints = v.Valid.Room(len(m.at)), room64(v.Ints, len(m.at))
	all := own(v)
	for k, i := range m.at {
		at, ok := m.e.rich.lastProcessed(m.b.pair(int(i)))
		v.Ints[k] = at
		from := len(all.Buf)
		if ok {
			v.Valid.Set(k)
			if m.flat {
				all.Buf = m.e.zone.append(all.Buf, at)
			}
		}
		all.End(from)
	}
}

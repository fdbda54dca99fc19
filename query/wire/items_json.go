package wire

import "preismon/query"

// marshalItems writes a page of items as encoding/json does, at a quarter of
// the cost: pages of items are requested often, and are long.
func marshalItems(p *query.Page[itemRecord]) ([]byte, error) {
	rest := *p
	rest.Data = []itemRecord{}
	around, err := marshalAny(&rest)
	if err != nil {
		return nil, err
	}
	const before = `{"data":[`
	out := append(make([]byte, 0, len(around)+itemBytes*len(p.Data)), before...)
	for i := range p.Data {
		if i > 0 {
			out = append(out, ',')
		}
		out = p.Data[i].appendJSON(out)
	}
	return append(out, around[len(before):]...), nil
}

// itemBytes is about how long an item is in JSON.
const itemBytes = 320

func (r *itemRecord) appendJSON(out []byte) []byte {
	out = append(out, `{"itemId":"`...)
	out = append(out, r.ItemID.String()...)
	out = append(out, '"')
	for _, f := range [...]struct {
		name  string
		value *string
	}{
		{`,"ean":`, r.EAN},
		{`,"pzn":`, r.PZN},
		{`,"asin":`, r.ASIN},
		{`,"asinLocale":`, r.ASINLocale},
		{`,"name":`, r.Name},
		{`,"brand":`, r.Brand},
		{`,"manufacturer":`, r.Manufacturer},
	} {
		out = append(out, f.name...)
		if f.value == nil {
			out = append(out, "null"...)
		} else {
			out = query.AppendJSONString(out, []byte(*f.value))
		}
	}
	return append(out, '}')
}

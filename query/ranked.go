package query

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"preismon/contracts"
)

// ratio is what records are ranked by: an amount by another, which may be 0.
type ratio struct{ by, of int64 }

func (r ratio) value() float64 { return float64(r.by) / float64(max(1, r.of)) }

// rankKey determines where a record is among all: the greatest size first, then
// by item and where it is. It identifies a record of its kind.
type rankKey struct {
	size  ratio
	item  contracts.ItemID
	where string // a site, or a country and a currency
}

func (a rankKey) compare(b rankKey) int {
	return cmp.Or(cmp.Compare(b.size.value(), a.size.value()), cmp.Compare(a.item, b.item), cmp.Compare(a.where, b.where))
}

type rankedRecord interface{ rankKey() rankKey }

func sortByRank[T rankedRecord](all []T) {
	slices.SortFunc(all, func(a, b T) int { return a.rankKey().compare(b.rankKey()) })
}

// rankedPosition is where a walk over records that are ranked as a whole
// continues: every page ranks them again, as of the instant and the watermark
// of the first, but by the scope and the reference prices of its own time.
type rankedPosition struct {
	Until     int64     `json:"u"` // ms
	Floor     int64     `json:"l"` // of the visibility that the walk began with
	Watermark Watermark `json:"w"`
	after     *rankKey  // of the last record before; nil: none, or in a counting cursor
	Past      int       `json:"p"` // records before, in a counting cursor
}

// MarshalJSON writes the position as few bytes: cursors cost agents tokens.
func (p rankedPosition) MarshalJSON() ([]byte, error) {
	b := binary.AppendVarint(nil, p.Until)
	b = binary.AppendVarint(b, p.Floor)
	b = binary.AppendUvarint(b, uint64(p.Watermark.Epoch))
	b = binary.AppendUvarint(b, p.Watermark.Seq)
	b = binary.AppendVarint(b, p.after.size.by)
	b = binary.AppendVarint(b, p.after.size.of)
	b = binary.AppendUvarint(b, uint64(p.after.item))
	return json.Marshal(append(b, p.after.where...))
}

// UnmarshalJSON also reads the object of a counting cursor, as earlier builds
// sealed them.
func (p *rankedPosition) UnmarshalJSON(state []byte) error {
	if bytes.HasPrefix(state, []byte("{")) {
		type counting rankedPosition
		return json.Unmarshal(state, (*counting)(p))
	}
	var b []byte
	if err := json.Unmarshal(state, &b); err != nil {
		return err
	}
	r := bytes.NewBuffer(b)
	until, err1 := binary.ReadVarint(r)
	floor, err2 := binary.ReadVarint(r)
	epoch, err3 := binary.ReadUvarint(r)
	seq, err4 := binary.ReadUvarint(r)
	by, err5 := binary.ReadVarint(r)
	of, err6 := binary.ReadVarint(r)
	item, err7 := binary.ReadUvarint(r)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil || epoch > math.MaxUint32 {
		return errors.Join(errors.New("no position among ranked records"), err)
	}
	*p = rankedPosition{
		Until: until, Floor: floor, Watermark: Watermark{Epoch: uint32(epoch), Seq: seq},
		after: &rankKey{ratio{by, of}, contracts.ItemID(item), r.String()},
	}
	return nil
}

// begins returns the index of the first record at a position.
func begins[T rankedRecord](all []T, position rankedPosition) int {
	if position.after == nil {
		return min(position.Past, len(all))
	}
	at, found := slices.BinarySearchFunc(all, *position.after, func(one T, after rankKey) int { return one.rankKey().compare(after) })
	if found {
		at++
	}
	return at
}

// rankedPage cuts the page at a position out of all records.
func rankedPage[T rankedRecord](s *Service, all []T, bound binding, position rankedPosition, limit int) (data []T, paging Paging, err error) {
	rest := all[begins(all, position):]
	data = append([]T{}, rest[:min(limit, len(rest))]...)
	paging = Paging{Limit: limit, Returned: len(data), after: func(records int) (string, error) {
		next, last := position, rest[records-1].rankKey()
		next.after = &last
		return s.seal.sealCursor(bound, next)
	}}
	if len(rest) > limit {
		paging.NextCursor, err = paging.after(limit)
	}
	return data, paging, err
}

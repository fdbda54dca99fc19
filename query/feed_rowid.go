package query

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash"

	"preismon/contracts"
	"preismon/query/frame"
)

// rowIDs identifies rows so that a client recognizes one that it has, without
// revealing the positions of rows, which would show how many others there are.
type rowIDs struct{ key []byte }

// rowIDBytes is enough for as many rows as there will ever be: 96 bits.
const rowIDBytes = 12

func newRowIDs(key contracts.Secret) rowIDs {
	sum := sha256.Sum256([]byte("preismon row id v1\x00" + key.Reveal()))
	return rowIDs{sum[:]}
}

// rowIDColumn follows the columns of a row in a feed.
var rowIDColumn = textColumn("rowId")

// FeedColumns returns the columns of the rows of a feed, with some groups of
// fields.
func FeedColumns(include Include) []frame.Column {
	return append(Columns(include.Fields()), rowIDColumn)
}

// rowID is the id of a row, by the function that writes it.
type rowID struct{ of pen }

func (r rowID) pen(_ *rowEncoder, key string) pen {
	key += `"`
	return func(out []byte, b *Block, i int) []byte { return append(r.of(append(out, key...), b, i), '"') }
}

func (r rowID) vector(m *batcher, v *frame.Vector) {
	t := own(v)
	for _, i := range m.at {
		from := len(t.Buf)
		t.Buf = r.of(t.Buf, m.b, int(i))
		t.End(from)
	}
}

// of writes the ids of a mandate's rows. It is for one read.
func (r rowIDs) of(m contracts.MandateID) pen {
	var h hash.Hash = hmac.New(sha256.New, r.key)
	var position [24]byte
	var sum []byte
	binary.BigEndian.PutUint64(position[:], uint64(m))
	return func(out []byte, b *Block, i int) []byte {
		binary.BigEndian.PutUint32(position[8:], b.Epoch[i])
		binary.BigEndian.PutUint64(position[12:], b.Seq[i])
		binary.BigEndian.PutUint16(position[20:], b.Capture[i])
		binary.BigEndian.PutUint16(position[22:], b.Offer[i])
		h.Reset()
		h.Write(position[:])
		sum = h.Sum(sum[:0])
		return base64.RawURLEncoding.AppendEncode(out, sum[:rowIDBytes])
	}
}

// ofSilences identifies the alerts of a rule about silence by the pair and the
// time of its last capture, as ofAlerts does those at captures.
func (r rowIDs) ofSilences(m contracts.MandateID, rule any) (func(contracts.Pair, int64) string, error) {
	of, err := json.Marshal(rule)
	return func(p contracts.Pair, lastMs int64) string {
		h := hmac.New(sha256.New, r.key)
		position := []byte("silence\x00")
		position = binary.BigEndian.AppendUint64(position, uint64(m))
		position = binary.BigEndian.AppendUint64(position, uint64(p.Item))
		position = binary.BigEndian.AppendUint64(position, uint64(lastMs))
		h.Write(append(append(append(position, p.Site...), 0), of...))
		return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:rowIDBytes])
	}, err
}

// ofAlerts identifies the alerts of a rule at the captures of a mandate: the
// same for the same rule, whenever and by whichever request they are reported.
// It is for one read.
func (r rowIDs) ofAlerts(m contracts.MandateID, rule any) (func(Position) string, error) {
	of, err := json.Marshal(rule)
	return func(at Position) string {
		h := hmac.New(sha256.New, r.key)
		position := append([]byte("alert\x00"), make([]byte, 22)...)
		binary.BigEndian.PutUint64(position[6:], uint64(m))
		binary.BigEndian.PutUint32(position[14:], at.Epoch)
		binary.BigEndian.PutUint64(position[18:], at.Seq)
		binary.BigEndian.PutUint16(position[26:], at.Capture)
		h.Write(append(position, of...))
		return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:rowIDBytes])
	}, err
}

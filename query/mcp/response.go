package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"preismon/query/wire"
)

// response is one JSON-RPC response, in pieces, so that a result need not be
// copied to be shown twice.
type response []piece

// piece is JSON unchanged or, if quoted, escaped for the inside of a JSON
// string.
type piece struct {
	text   []byte
	quoted bool
}

func (r response) size() int {
	size := 0
	for _, p := range r {
		if p.quoted {
			size += quotedLen(p.text)
		} else {
			size += len(p.text)
		}
	}
	return size
}

// held returns how many bytes the response holds: a text that is shown twice is
// held as one copy.
func (r response) held() int {
	size, texts := 0, map[*byte]bool{}
	for _, p := range r {
		if len(p.text) > 0 && !texts[&p.text[0]] {
			texts[&p.text[0]] = true
			size += len(p.text)
		}
	}
	return size
}

func (r response) writeTo(w io.Writer) error {
	for _, p := range r {
		write := w.Write
		if p.quoted {
			write = quoter{w}.Write
		}
		if _, err := write(p.text); err != nil {
			return err
		}
	}
	return nil
}

// quotedLen returns how long a compact JSON text is inside a JSON string. It
// has no control characters, since JSON itself escapes those.
func quotedLen(text []byte) int {
	return len(text) + bytes.Count(text, []byte{'"'}) + bytes.Count(text, []byte{'\\'})
}

// quoter escapes what is written through it.
type quoter struct{ io.Writer }

func (q quoter) Write(text []byte) (int, error) {
	b := bufio.NewWriterSize(q.Writer, 64<<10)
	from := 0
	for i, c := range text {
		if c == '"' || c == '\\' {
			_, _ = b.Write(text[from:i]) // b keeps its error to the end
			_ = b.WriteByte('\\')
			from = i
		}
	}
	_, _ = b.Write(text[from:])
	return len(text), b.Flush()
}

// plainPiece returns a piece of unchanged text.
func plainPiece(format string, args ...any) piece {
	return piece{text: fmt.Appendf(nil, format, args...)}
}

// resultResponse returns a response with the result as the SDK built it.
func resultResponse(id, result json.RawMessage) response {
	return response{plainPiece(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)}
}

// toolResponse returns a response with the result of a tool; other members of
// the result, like those of an era, come from the SDK.
func toolResponse(id json.RawMessage, r Result, others map[string]json.RawMessage) response {
	failed := ""
	if r.Failed {
		failed = `,"isError":true`
	}
	return response{
		plainPiece(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id),
		{text: r.Object, quoted: true},
		plainPiece(`"}%s],"structuredContent":`, r.linkBlock()),
		{text: r.Object},
		plainPiece("%s%s}}", failed, listed(others)),
	}
}

// contents is the text of a resource, without control characters.
type contents struct {
	uri, mime string
	text      []byte
}

// resourceResponse returns a response with the text of a resource; others are
// the other members of the result.
func resourceResponse(id json.RawMessage, c contents, others map[string]json.RawMessage) response {
	return response{
		plainPiece(`{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":%s,"mimeType":%s,"text":"`, id, marshal(c.uri), marshal(c.mime)),
		{text: c.text, quoted: true},
		plainPiece(`"}]%s}}`, listed(others)),
	}
}

// listed returns members of an object that has others before them.
func listed(members map[string]json.RawMessage) []byte {
	var list []byte
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list = fmt.Appendf(list, ",%q:%s", name, members[name])
	}
	return list
}

// linkBlock returns the link of a result as another block of its content.
func (r Result) linkBlock() []byte {
	if r.Link == nil {
		return nil
	}
	return append([]byte{','}, marshal(r.Link)...)
}

// errorResponse returns a response that explains why there is no result.
func errorResponse(r *refusal) response {
	var e struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct {
			Code    int64  `json:"code"`
			Message string `json:"message"`
			Data    any    `json:"data,omitempty"`
		} `json:"error"`
	}
	e.Version, e.ID = "2.0", r.id
	if r.id == nil {
		e.ID = json.RawMessage("null")
	}
	e.Error.Code, e.Error.Message, e.Error.Data = r.code, r.message, r.data
	return response{{text: marshal(e)}}
}

// marshal encodes values that always can be: texts, numbers, and JSON.
func marshal(v any) []byte {
	text, err := wire.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// write sends an answer: one response, or the array of a batch.
func write(w http.ResponseWriter, status int, r response) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(r.size()))
	w.WriteHeader(status)
	_ = r.writeTo(w) // a client that does not get all of it notices by the length
}

// array joins responses into that of a batch.
func array(responses []response) response {
	all := response{{text: []byte("[")}}
	for i, r := range responses {
		if i > 0 {
			all = append(all, piece{text: []byte(",")})
		}
		all = append(all, r...)
	}
	return append(all, piece{text: []byte("]")})
}

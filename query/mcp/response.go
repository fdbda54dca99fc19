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

// response is one response of JSON-RPC, in pieces: a result is not copied to
// be shown twice.
type response []piece

// piece is JSON as it stands, or quoted: as the inside of a JSON string.
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

// held is what the response keeps: a text that is shown twice is there once.
func (r response) held() int {
	size := 0
	for _, p := range r {
		if !p.quoted {
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

// quotedLen is how long a compact JSON text is inside a JSON string. It has
// no control characters, since JSON escapes those itself.
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

// plainPiece is text that stands as it is.
func plainPiece(format string, args ...any) piece {
	return piece{text: fmt.Appendf(nil, format, args...)}
}

// resultResponse is a response with the result as the SDK made it.
func resultResponse(id, result json.RawMessage) response {
	return response{plainPiece(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)}
}

// toolResponse is a response with the result of a tool; other members of the
// result, like those of an era, are the SDK's.
func toolResponse(id json.RawMessage, r Result, others map[string]json.RawMessage) response {
	var end bytes.Buffer
	if r.Failed {
		end.WriteString(`,"isError":true`)
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		fmt.Fprintf(&end, ",%q:%s", name, others[name])
	}
	end.WriteString("}}")
	return response{
		plainPiece(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id),
		{text: r.Object, quoted: true},
		plainPiece(`"}%s],"structuredContent":`, r.linkBlock()),
		{text: r.Object},
		{text: end.Bytes()},
	}
}

// linkBlock is the link of a result as a further block of its content.
func (r Result) linkBlock() []byte {
	if r.Link == nil {
		return nil
	}
	return append([]byte{','}, marshal(r.Link)...)
}

// errorResponse is a response that says why there is no result.
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

// marshal writes what always can be: texts, numbers, and JSON.
func marshal(v any) []byte {
	text, err := wire.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// write sends an answer: one response, or with more the array of them.
func write(w http.ResponseWriter, status int, r response) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Length", strconv.Itoa(r.size()))
	w.WriteHeader(status)
	_ = r.writeTo(w) // who does not get all of it sees it by the length
}

// array joins responses to that of a batch.
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

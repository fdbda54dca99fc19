package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"preismon/contracts/strictjson"
)

const (
	maxMessages = 100 // of a batch
	maxDepth    = 64  // of a body
)

// message is a request, or a notification when it has no id.
type message struct {
	id     json.RawMessage // a string or an integer, as written
	method string
	params json.RawMessage // an object; nil: none
}

func (m message) isRequest() bool { return m.id != nil }

// post is the body of one POST.
type post struct {
	messages []message
	batch    bool
}

// malformed refuses a POST whose body does not have the required form.
func malformed(code int64, id json.RawMessage, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, id: id, code: code, message: fmt.Sprintf(format, args...)}
}

func invalidRequest(id json.RawMessage, format string, args ...any) *refusal {
	return malformed(jsonrpc.CodeInvalidRequest, id, format, args...)
}

// parse reads a body: one message, or a batch of them. JSON readers disagree on
// names given twice and on bytes that are not text, so such a body is refused
// as a whole.
func parse(body []byte) (post, error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return post{}, malformed(jsonrpc.CodeParseError, nil, "The body is not JSON in UTF-8.")
	}
	if err := plain(body); err != nil {
		return post{}, err
	}
	if bytes.TrimLeft(body, " \t\r\n")[0] != '[' {
		m, err := parseMessage(body)
		if err != nil {
			return post{}, err
		}
		return post{messages: []message{m}}, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return post{}, malformed(jsonrpc.CodeParseError, nil, "The body is not JSON.")
	}
	return parseBatch(raw)
}

func parseBatch(raw []json.RawMessage) (post, error) {
	switch {
	case len(raw) == 0:
		return post{}, invalidRequest(nil, "The batch is empty.")
	case len(raw) > maxMessages:
		return post{}, invalidRequest(nil, "The batch has %d messages, at most %d.", len(raw), maxMessages)
	}
	p := post{messages: make([]message, len(raw)), batch: true}
	ids := map[string]bool{}
	for i, one := range raw {
		m, err := parseMessage(one)
		var no *refusal
		switch {
		case errors.As(err, &no):
			return post{}, invalidRequest(nil, "Message %d of the batch: %s", i+1, no.message)
		case m.method == "initialize":
			return post{}, invalidRequest(nil, "initialize cannot be part of a batch.")
		case m.isRequest() && ids[idKey(m.id)]:
			return post{}, invalidRequest(nil, "Two messages of the batch have the same id.")
		}
		if m.isRequest() {
			ids[idKey(m.id)] = true
		}
		p.messages[i] = m
	}
	return p, nil
}

// idKey returns the same text for equal ids, however they are written.
func idKey(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return "s" + text
	}
	return string(id)
}

var integer = regexp.MustCompile(`^-?[0-9]+$`)

func parseMessage(raw json.RawMessage) (message, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return message{}, invalidRequest(nil, "A message is one JSON object.")
	}
	m := message{params: members["params"]}
	if id, given := members["id"]; given {
		if id[0] != '"' && !integer.Match(id) {
			return message{}, invalidRequest(nil, "id is neither a string nor an integer.")
		}
		m.id = id
	}
	_, result := members["result"]
	_, failure := members["error"]
	switch {
	case string(members["jsonrpc"]) != `"2.0"`:
		return message{}, invalidRequest(m.id, `jsonrpc is not "2.0".`)
	case result || failure:
		return message{}, invalidRequest(m.id, "This is a response. The server asks nothing, so nothing is to be answered.")
	case json.Unmarshal(members["method"], &m.method) != nil || m.method == "":
		return message{}, invalidRequest(m.id, "method is not the name of a method.")
	}
	if m.params != nil && m.params[0] != '{' {
		return message{}, invalidRequest(m.id, "params is not an object.")
	}
	return m, nil
}

// plain refuses names that are given twice in an object, and values that are
// nested too deeply.
func plain(body []byte) error {
	err := strictjson.Unique(body, maxDepth)
	repeated, twice := errors.AsType[strictjson.Repeated](err)
	switch {
	case err == nil:
		return nil
	case twice:
		return invalidRequest(nil, "A member is given twice: %s.", clip(string(repeated)))
	case errors.Is(err, strictjson.ErrDeep):
		return invalidRequest(nil, "The body is nested deeper than %d levels.", maxDepth)
	}
	return malformed(jsonrpc.CodeParseError, nil, "The body is not JSON.")
}

// clip shortens a client's text for a message.
func clip(text string) string { return clipTo(text, 100) }

// maxLogged bounds how much is logged of a text that may repeat the client's.
const maxLogged = 300

func clipTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

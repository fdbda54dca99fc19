package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// MaxLookups is how many identifiers one lookup accepts.
const MaxLookups = 10_000

// maxExplainedBytes is how long the parameters of an explained lookup may be: a
// request to the server has at most 64 KiB before its body.
const maxExplainedBytes = 60 << 10

// Lookup looks up identifiers, which are lists by kind: eans, pzns, itemIds, and
// asins, each with its locale like B000000001:de.
func (c *Client) Lookup(ctx context.Context, identifiers, params url.Values) ([]json.RawMessage, error) {
	r := request{path: lookupPath, params: params, post: true}
	body, err := lookupBody(identifiers)
	if err != nil {
		return nil, err
	}
	if r.body = string(body); explainingOf(ctx, r) != nil {
		r.params = maps.Clone(identifiers)
		maps.Copy(r.params, params)
		if size := len(r.params.Encode()); size > maxExplainedBytes {
			return nil, fmt.Errorf("too many identifiers to explain at once: they take %d bytes in a URL, at most %d", size, maxExplainedBytes)
		}
	}
	var answer struct {
		Data []json.RawMessage `json:"data"`
	}
	err = c.post(ctx, r, &answer)
	return answer.Data, err
}

const lookupPath = "/ext/v1/lookup"

// lookupBody returns the body of a request.
func lookupBody(identifiers url.Values) ([]byte, error) {
	type asin struct {
		ASIN       string `json:"asin"`
		ASINLocale string `json:"asinLocale"`
	}
	body := map[string]any{}
	for kind, values := range identifiers {
		body[kind] = values
	}
	if codes := identifiers["asins"]; codes != nil {
		asins := make([]asin, len(codes))
		for i, value := range codes {
			asins[i].ASIN, asins[i].ASINLocale, _ = strings.Cut(value, ":")
		}
		body["asins"] = asins
	}
	return json.Marshal(body)
}

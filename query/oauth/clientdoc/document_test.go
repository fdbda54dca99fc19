package clientdoc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query/oauth/clientdoc"
)

// URLs that may not be client ids are refused before anything is fetched
// (section 3 of the draft).
func TestClientIDs(t *testing.T) {
	w := newWorld(t)
	f := w.fetcher(func(c *clientdoc.Config, _ *clientdoc.Deps) { c.Ports = append(c.Ports, 443) })
	for _, id := range []string{
		"", "client", "http://client.example.com/x", "HTTPS://client.example.com/x", "https:client.example.com/x", "https:/client.example.com/x", "ftp://client.example.com/x", "//client.example.com/x",
		"https://client.example.com", "https://client.example.com/", "https://client.example.com?x", "https://client.example.com/?x", "https:///x", "https://:443/x",
		"https://client.example.com/x#", "https://client.example.com/x#y", "https://user@client.example.com/x", "https://user:pw@client.example.com/x", "https://@client.example.com/x",
		"https://client.example.com/a/../x", "https://client.example.com/./x", "https://client.example.com/..", "https://client.example.com/a/%2e%2e/x", "https://client.example.com/%2E/x", "https://client.example.com/a%2f..%2fx", "https://client.example.com/%252e%252e/x",
		"https://client.example.com:80/x", "https://client.example.com:22/x", "https://client.example.com:8443/x", "https://client.example.com:0/x", "https://client.example.com:/x", "https://client.example.com:65979/x",
		"https://127.0.0.1/x", "https://8.8.8.8/x", "https://[::1]/x", "https://[2606:4700::1111]/x", "https://2130706433/x", "https://0x7f.0.0.1/x", "https://0177.0.0.1/x", "https://127.1/x", "https://1.1/x", "https://0x7f000001/x", "https://a.0x7f/x", "https://a.1/x", "https://[::ffff:1.2.3.4]/x", "https://[fe80::1%25lo]/x",
		"https://localhost/x", "https://metadata/x", "https://client/x", "https://client.example.com./x", "https://.example.com/x", "https://client..example.com/x", "https://-a.example.com/x", "https://a_b.example.com/x", "https://Client.example.com/x", "https://bücher.example/x", "https://client.example.com%00/x", "https://%63lient.example.com/x", "https://①②⑦.⓪.⓪.①/x", "https://" + strings.Repeat("a.", 130) + "com/x",
		"https://client.example.com/x y", "https://client.example.com/\n", "https://client.example.com\\x", "https://client.example.com/*", "https://client.example.com/\u202e", "https://client.example.com/%zz", "https://client.example.com/" + strings.Repeat("a", 2000),
	} {
		_, err := f.Fetch(t.Context(), id)
		wantFault(t, id, err, fault.Invalid)
	}
	if w.wantHits(0); w.names.lookups() != 0 {
		t.Errorf("%d names were looked up", w.names.lookups())
	}
}

// Documents that are refused (section 4 of the draft, RFC 7591).
func TestDocuments(t *testing.T) {
	w := newWorld(t)
	id := w.id("/client.json")
	good := w.document(id, nil)
	for name, body := range map[string]string{
		"nothing":              "",
		"no JSON":              "<html>",
		"half":                 good[:len(good)-1],
		"two values":           good + "{}",
		"no object":            "[" + good + "]",
		"null":                 "null",
		"text":                 `"x"`,
		"not UTF-8":            strings.Replace(good, "Example", "Ex\xffample", 1),
		"byte order mark":      "\ufeff" + good,
		"twice":                `{"client_id":"https://evil.example/x",` + good[1:],
		"twice, escaped":       `{"client\u005fid":"https://evil.example/x",` + good[1:],
		"twice, deep":          `{"x":[{"a":1,"a":2}],` + good[1:],
		"other id":             w.document("https://client.example.com/other.json", nil),
		"id with default port": w.document("https://client.example.com/client.json", nil),
		"id in another case":   w.document(strings.Replace(id, "client.json", "Client.json", 1), nil),
		"id of no text":        w.document(id, object{"client_id": 7}),
		"no id":                w.document(id, object{"client_id": nil}),
		"id by another name":   w.document(id, object{"client_id": nil, "Client_ID": id}),
		"no name":              w.document(id, object{"client_name": nil}),
		"empty name":           w.document(id, object{"client_name": " \u200b\u202e"}),
		"name of no text":      w.document(id, object{"client_name": []string{"x"}}),
		"null name":            strings.Replace(good, `"Example"`, "null", 1),
		"no redirects":         w.document(id, object{"redirect_uris": nil}),
		"empty redirects":      w.document(id, object{"redirect_uris": []string{}}),
		"redirects of text":    w.document(id, object{"redirect_uris": "https://client.example.com/cb"}),
		"redirect null":        w.document(id, object{"redirect_uris": []any{nil}}),
		"redirect javascript":  w.document(id, object{"redirect_uris": []string{"https://client.example.com/cb", "javascript:alert(1)"}}),
		"redirect http":        w.document(id, object{"redirect_uris": []string{"http://client.example.com/cb"}}),
		"secret method":        w.document(id, object{"token_endpoint_auth_method": "client_secret_basic"}),
		"key method":           w.document(id, object{"token_endpoint_auth_method": "private_key_jwt"}),
		"empty method":         w.document(id, object{"token_endpoint_auth_method": ""}),
		"secret":               w.document(id, object{"client_secret": "x"}),
		"secret end":           w.document(id, object{"client_secret_expires_at": 0}),
		"other grants":         w.document(id, object{"grant_types": []string{"client_credentials"}}),
		"no grants":            w.document(id, object{"grant_types": []string{}}),
		"too long by blanks":   good + strings.Repeat(" ", 5<<10+1-len(good)),
		"null grants":          w.document(id, object{"grant_types": json.RawMessage("null")}),
		"start of the id":      w.document(id[:len(id)-1], nil),
		"too long":             w.document(id, object{"x": strings.Repeat("a", 5<<10)}),
	} {
		w.answer(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprint(rw, body)
		})
		_, err := w.fetcher().Fetch(t.Context(), id)
		wantFault(t, name, err, fault.Invalid)
	}
	for name, change := range map[string]object{
		"no method": {"token_endpoint_auth_method": nil}, "no grant types": {"grant_types": nil}, "unknown members": {"software_id": "x", "jwks": object{}},
		"exactly as long": {"x": strings.Repeat("a", 5<<10-len(good)-len(`"x":"",`))},
	} {
		w.answer(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprint(rw, w.document(id, change))
		})
		if _, err := w.fetcher().Fetch(t.Context(), id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A long name is shortened, not refused.
func TestLongName(t *testing.T) {
	w := newWorld(t)
	w.answer(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, w.document(w.id("/c"), object{"client_name": strings.Repeat("ä", 61)}))
	})
	got, err := w.fetcher().Fetch(t.Context(), w.id("/c"))
	if must.Do(t, err); got.Name != strings.Repeat("ä", 59)+"…" {
		t.Errorf("%q", got.Name)
	}
}

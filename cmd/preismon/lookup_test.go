package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLookupOfFiles: a heading and quotation marks, as tables have them, are no
// identifiers, and a refusal names the line of the file.
func TestLookupOfFiles(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			EANs  []string          `json:"eans"`
			ASINs []json.RawMessage `json:"asins"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		wrong := ""
		for i, ean := range asked.EANs {
			if len(ean) != 13 {
				wrong = fmt.Sprintf("eans[%d]: %q is not an EAN", i, ean)
			}
		}
		if asked.ASINs != nil {
			wrong = "asins[0].asin: is not an ASIN"
		}
		if wrong != "" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"code":"MVP_VALIDATION_ERROR","detail":%q}`, wrong)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[],"query":{}}`)
	}))
	defer server.Close()
	for _, c := range []struct{ lines, flags, says string }{
		{"EAN\n4006381333931\n", "", ""},
		{"\"gtin\"\n\"4006381333931\"\n", "", ""},
		{"EAN\n4006381333931\n\n\"123\"\n", "", "preismon: line 4: \"123\" is not an EAN\n"},
		{"4006381333931\n", "--ean 123", "preismon: --ean: \"123\" is not an EAN\n"},
		{"x:de\n", "--kind asin", "preismon: line 1: is not an ASIN\n"},
	} {
		var out, errs bytes.Buffer
		args := append(strings.Fields("lookup --file - --token any "+c.flags), "--url", server.URL)
		run(t.Context(), args, streams{strings.NewReader(c.lines), &out, &errs})
		if errs.String() != c.says {
			t.Errorf("%q %s: %q, want %q", c.lines, c.flags, errs.String(), c.says)
		}
	}
}

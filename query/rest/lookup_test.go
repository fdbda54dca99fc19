package rest_test

import (
	"fmt"
	"strings"
	"testing"
)

// lookup posts a body.
func (s *surface) lookup(body string, header ...string) answer {
	s.t.Helper()
	r := s.request("POST", "/ext/v1/lookup", s.token(reader), strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.do(r)
}

// A lookup accepts exactly what its contract says, and a refusal names each
// fault.
func TestLookupBody(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	for body, named := range map[string]string{
		``:                            "not one JSON object",
		`[]`:                          "not one JSON object",
		`{`:                           "not one JSON object",
		`{"eans":["4006381333931"]}x`: "something after",
		`{}`:                          "names 0 identifiers",
		`{"eans":[]}`:                 "names 0 identifiers",
		`{"EANS":["4006381333931"]}`:  `"EANS": unknown field`,
		`{"eans":"4006381333931"}`:    `"eans": not a list`,
		`{"eans":[4006381333931]}`:    `eans[0]`,
		`{"eans":["4006381333931","x"],"pzns":["1"],"itemIds":[7,"0"]}`: `eans[1]`,
		`{"itemIds":["0"]}`:                          `itemIds[0]`,
		`{"asins":["B000000001"]}`:                   `asins[0]: not an object of asin and asinLocale`,
		`{"asins":[{"asin":"B000000001"}]}`:          `asins[0]: not an object`,
		`{"asins":[{"asin":"b","asinLocale":"de"}]}`: `asins[0].asin`,

		`{"asins":[{"asin":"B000000001","asin":"B000000002","asinLocale":"de"}]}`:   `asins[0]: "asin": given twice`,
		`{"asins":[{"asin":"B000000001","asinLocale":"de","ean":"4006381333931"}]}`: `asins[0]: not an object of asin and asinLocale`,
		`{"eans":["4006381333931"],"eans":["4006381333931"]}`:                       "eans: given twice",
		`{"itemIds":["` + strings.Repeat(`1","`, 10_000) + `1"]}`:                   "more than 10000 identifiers",
	} {
		p := s.lookup(body).wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		if !strings.Contains(p.Detail, named) {
			t.Errorf("%.60s: %q does not say %q", body, p.Detail, named)
		}
	}
	for _, member := range []string{`"a":[]`, `"eans":[]`} { // the detail is short, however much is wrong
		p := s.lookup("{"+strings.Repeat(member+",", 50_000)+member+"}").wantProblem(t, 400, "MVP_VALIDATION_ERROR")
		if len(p.Detail) > 500 {
			t.Errorf("%s: a detail of %d bytes", member, len(p.Detail))
		}
	}
	const good = `{"eans":["4006381333931"]}`
	s.lookup(good, "Content-Type", "text/plain").wantProblem(t, 400, "MVP_VALIDATION_ERROR")
	s.lookup(good, "Authorization", "Bearer x").wantProblem(t, 401, "AUTH_TOKEN_INVALID")
	for range 20 { // the client reads the answer after it has sent all
		s.lookup(`{"eans":["`+strings.Repeat("1", 4<<20)+`"]}`).wantProblem(t, 413, "PAYLOAD_TOO_LARGE")
	}
	wantQuota(t, s.lookup(good))
}

// The records are in the requested order: those of the caller, and what it may
// not see like what does not exist.
func TestLookupOrder(t *testing.T) {
	t.Parallel()
	l := readMatrix(t)
	body := fmt.Sprintf(`{"pzns":["%s"],"itemIds":["9001","%s"],"eans":["%s"]}`, own["pzn"], ours["item"], theirs["ean"])
	all := decode[struct {
		Data []struct {
			Asked       map[string]string
			Known, Seen bool
			Items       []string
			Latest      []struct{ ItemID, Site, CapturedAt string }
		}
		Query struct{ Asked, Known, Seen int }
	}](t, l.lookup(body))
	if fmt.Sprint(all.Query) != "{4 2 2}" || len(all.Data) != 4 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []struct {
		asked string
		known bool
	}{{own["pzn"], true}, {"9001", false}, {ours["item"], true}, {theirs["ean"], false}} {
		e := all.Data[i]
		if len(e.Asked) != 1 || !strings.Contains(fmt.Sprint(e.Asked), want.asked) || e.Known != want.known || e.Seen != want.known || len(e.Latest) != len(e.Items) {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"preismon/contracts/fault"
	"preismon/deploy/testserver/must"
	"preismon/query"
)

// Every route reports every kind of failure of its store as the same problem
// (ERR-00a).
func TestFailuresByKind(t *testing.T) {
	s := serve(t)
	token := s.token(reader)
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{errBroken, 500, "INTERNAL_ERROR"},
		{&fault.Error{Kind: fault.Internal, Msg: "secret", Code: "SECRET", Err: errBroken}, 500, "INTERNAL_ERROR"},
		{&fault.Error{Kind: fault.Invalid, Err: errBroken}, 400, "MVP_VALIDATION_ERROR"},
		{fault.New(fault.Invalid, "", "Narrow it."), 400, "MVP_VALIDATION_ERROR"},
		{&fault.Error{Kind: fault.Unauthenticated, Err: errBroken}, 401, "AUTH_TOKEN_INVALID"},
		{&fault.Error{Kind: fault.Forbidden, Err: errBroken}, 403, "AUTH_FORBIDDEN"},
		{&fault.Error{Kind: fault.RateLimited, RetryAfter: 1500 * time.Millisecond, Err: errBroken}, 429, "RATE_LIMIT_EXCEEDED"},
		{&fault.Error{Kind: fault.Timeout, Err: errBroken}, 504, "RESULTS_QUERY_TIMEOUT"}, // ERR-12
		{fmt.Errorf("read: %w", context.DeadlineExceeded), 504, "RESULTS_QUERY_TIMEOUT"},
		{&fault.Error{Kind: fault.Unavailable, RetryAfter: 2 * time.Second, Err: errBroken}, 503, "SERVICE_UNAVAILABLE"},
		{fault.New(fault.Invalid, query.CodeResponseTooLarge, "Too large."), 400, "RESPONSE_TOO_LARGE"}, // ERR-17a
	} {
		for i, path := range readRoutes {
			method := []string{"Sites", "Items", "Results", "Results", "ASINLocales", "Orders", "Orders", "OrderPairs"}[i]
			s.store.breakDown(func(m string) error {
				if m == method {
					return c.err
				}
				return nil
			})
			a := s.get(path, token)
			p := a.wantProblem(t, c.status, c.code)
			wantQuota(t, a)
			if strings.Contains(string(a.body), "secret") {
				t.Errorf("the cause shows: %s", a.body)
			}
			if retry := a.Header.Get("Retry-After"); (c.status == 429 || c.status == 503) != (retry == "2") {
				t.Errorf("%d: Retry-After %q", c.status, retry)
			}
			if p.Detail == "" || p.Title == "" {
				t.Errorf("%+v", p)
			}
		}
	}
	if !strings.Contains(s.log.String(), errBroken.Error()) {
		t.Error("the cause is not in the log")
	}
}

func TestUnknownPaths(t *testing.T) {
	s := serve(t)
	for _, path := range []string{"/nothing", "/v1", "/v1/", "/v1/nothing", "/v1/sites/", "/V1/sites", "/v1//sites", "/v1/orderz", "/v1/orders/5/exports/"} {
		a := s.get(path, "")
		a.wantProblem(t, 404, "NOT_FOUND")
		if strings.HasPrefix(path, "/v1") {
			wantQuota(t, a)
		}
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("limit=1&site=shop-one")
	f.Add("itemId=1;ean=%zz&=")
	f.Add("latestPerPair=true&capturedFrom=2026-01-01&asin=B000000001")
	s := serve(f)
	token := s.token(reader)
	f.Fuzz(func(t *testing.T, raw string) {
		r := must.Get(http.NewRequest("GET", "http://x/v1/results", nil))(t)
		r.URL.RawQuery = raw
		r.Header.Set("Authorization", "Bearer "+token)
		w := newRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 && w.Code != 429 {
			t.Errorf("%q: %d %s", raw, w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %s", raw, w.Body)
		}
	})
}

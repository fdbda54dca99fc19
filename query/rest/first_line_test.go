package rest_test

import "testing"

// A first line above the limit is refused as a page is, before the first byte:
// RES-14b, LIM-02a, ERR-17a, choices 41.
func TestFirstLineTooLargeIsAProblem(t *testing.T) {
	s := serve(t, func(set *settings) { set.query.MaxResponseBytes = 50 })
	s.get("/v1/results/stream", s.token(reader)).wantProblem(t, 400, "RESPONSE_TOO_LARGE")
}

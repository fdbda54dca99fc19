package client_test

import (
	"testing"

	"preismon/cmd/preismon/client"
	"preismon/deploy/testserver/equals"
)

// TestProblemReads: a code is shown where it adds to the sentence.
func TestProblemReads(t *testing.T) {
	for _, c := range []struct {
		p    client.Problem
		want string
	}{
		{client.Problem{Status: 400, Code: "MVP_VALIDATION_ERROR", Detail: `limit: "x" is not an integer.`}, `limit: "x" is not an integer.`},
		{client.Problem{Status: 400, Code: "RESULTS_SCOPE_TOO_BROAD", Detail: "Narrow it."}, "Narrow it. (RESULTS_SCOPE_TOO_BROAD)"},
		{client.Problem{Status: 500, Code: "INTERNAL_ERROR", Detail: "It failed.", RequestID: "r1"}, "It failed. (INTERNAL_ERROR, request r1)"},
	} {
		equals.Is(t, c.want, c.p.Error(), "%+v reads", c.p)
	}
}

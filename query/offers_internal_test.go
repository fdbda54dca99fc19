package query

import (
	"errors"
	"testing"

	"preismon/contracts/fault"
)

// A read that holds more offers than may be compared is refused before they
// are charged.
func TestTooManyOffersAreRefused(t *testing.T) {
	t.Parallel()
	err := new(offerRoom).hold(maxOffers + 1)
	if refusal, ok := errors.AsType[*fault.Error](err); !ok || refusal.Code != CodeScopeTooBroad {
		t.Errorf("%v", err)
	}
}

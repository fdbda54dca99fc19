package rest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gin-gonic/gin"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

// Bounds of the requests that are offered in place of a refused one, so that
// its headers pass every proxy. MCP returns all of them, as recovery.attempts,
// and an explained read, as narrower.
const (
	maxAlternates     = 20
	maxAlternateBytes = 3 << 10
	maxLooking        = 2 * time.Second // the caller is waiting for its refusal
)

// offer adds to a refusal of a read that is too broad the narrower requests of
// the same path that together cover it, in their order (RFC 8288). Each is
// numbered, with their total, so that no client mistakes some of them for all.
func (a *api) offer(c *gin.Context, p query.Principal, r query.ResultsRequest, refused error) {
	if !tooBroad(refused) {
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), maxLooking)
	defer cancel()
	attempts, err := a.service.Attempts(ctx, p, r, refused)
	if err != nil {
		return // the refusal is sufficient without them
	}
	explained := unsentOf(c.Request)
	left := maxAlternateBytes
	for i, one := range attempts {
		query := narrowerQuery(one, c.Query("limit"))
		if explained != nil {
			explained.narrower = append(explained.narrower, c.Request.URL.Path+"?"+query)
			continue
		}
		link := fmt.Sprintf(`<?%s>; rel="alternate"; title="%d of %d"`, query, i+1, len(attempts))
		if left -= len(link); left < 0 || i == maxAlternates {
			return
		}
		c.Writer.Header().Add("Link", link)
	}
}

// narrow adds the same to the explanation of a read of records.
func (a *api) narrow(c *gin.Context, p query.Principal, path string, refused error) {
	explained := unsentOf(c.Request)
	if explained == nil || !tooBroad(refused) {
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), maxLooking)
	defer cancel()
	narrower, err := wire.Narrower(ctx, a.service, p, path, c.Request.URL.RawQuery, refused)
	if err != nil {
		return // the refusal is sufficient without them
	}
	for _, one := range narrower {
		explained.narrower = append(explained.narrower, extendedBase+path+"?"+one.Encode())
	}
}

// tooBroad reports whether a read was refused because of what it covers.
func tooBroad(refused error) bool {
	f, ok := errors.AsType[*fault.Error](refused)
	return ok && (f.Code == query.CodeScopeTooBroad || f.Code == query.CodeLatestPairTooBroad)
}

// narrowerQuery returns the query string of a narrower request, with the limit
// of the refused one: HEAD reads one record, but is answered like GET.
func narrowerQuery(r query.ResultsRequest, limit string) string {
	v := url.Values{}
	for name, value := range wire.ResultsArguments(r) {
		v.Set(name, fmt.Sprint(value))
	}
	if v.Del("limit"); limit != "" {
		v.Set("limit", limit)
	}
	return v.Encode()
}

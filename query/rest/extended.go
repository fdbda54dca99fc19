package rest

import (
	"github.com/gin-gonic/gin"

	"preismon/query"
	"preismon/query/wire"
)

// The surface /ext/v1: requests for more than rows. It has a document of its
// own, and the token, the scope, the limits, the errors and the admission of
// /v1.
const (
	extendedBase = "/ext/v1"
	lookupPath   = extendedBase + "/lookup"
	summaryPath  = "/summary" // after an item
)

// extend adds the routes of /ext/v1.
func (a *api) extend(e *gin.Engine) {
	for path, read := range map[string]wire.Read{"/statistics": wire.Statistics, "/position": wire.Positions, "/movers": wire.Movers, "/windows": wire.Windows, "/evidence": wire.Evidence, "/sites/status": wire.SiteStatus, "/orders/status": wire.OrderStatus, "/overview": wire.Overview} {
		get(e, extendedBase+path, a.handle(a.reads(a.heavy(func(c *gin.Context, p query.Principal) error { return a.records(c, p, read, nil) }))))
	}
	get(e, extendedBase+"/items/:itemId"+summaryPath, a.handle(a.reads(a.heavy(a.itemSummary))))
	get(e, feedPath, a.handle(a.reads(a.feed(wire.DecodeFeed))))
	get(e, alertsPath, a.handle(a.reads(a.feed(wire.DecodeAlerts))))
	get(e, explainPath, a.handle(a.explain(e)))
	e.POST(lookupPath, a.handle(a.readsBody(wire.MaxLookupBytes, func(c *gin.Context, p query.Principal, body []byte) error {
		return a.heavy(func(c *gin.Context, p query.Principal) error {
			if err := isJSON(c, body); err != nil {
				return err
			}
			return a.records(c, p, wire.Lookup, body)
		})(c, p)
	})))
}

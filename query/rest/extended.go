package rest

import (
	"strings"

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
	variable := strings.NewReplacer("{", ":", "}", "")
	for path, read := range wire.Reads() {
		get(e, extendedBase+variable.Replace(path), a.handle(a.reads(a.heavy(func(c *gin.Context, p query.Principal) error {
			if hasRows(c.Request) {
				return a.itemHistory(c, p)
			}
			err := a.records(c, p, read, nil)
			a.narrow(c, p, path, err)
			return err
		}))))
	}
	get(e, feedPath, a.handle(a.reads(a.feed(wire.DecodeFeed, query.MaxResultsLimit))))
	get(e, alertsPath, a.handle(a.reads(a.feed(wire.DecodeAlerts, query.MaxAlertRows))))
	get(e, explainPath, a.handle(a.explain(a.caught(e))))
	e.POST(lookupPath, a.handle(a.readsBody(wire.MaxLookupBytes, func(c *gin.Context, p query.Principal, body []byte) error {
		return a.heavy(func(c *gin.Context, p query.Principal) error {
			if err := isJSON(c, body); err != nil {
				return err
			}
			return a.records(c, p, wire.Lookup, body)
		})(c, p)
	})))
}

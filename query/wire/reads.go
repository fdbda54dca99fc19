package wire

// Reads returns the queries of /ext/v1 that a GET asks and one answer covers, by
// their paths below it, with {itemId} where a path names an item. REST and MCP
// both offer all of them.
func Reads() map[string]Read {
	return map[string]Read{
		"/statistics":             Statistics,
		"/position":               Positions,
		"/movers":                 Movers,
		"/windows":                Windows,
		"/evidence":               Evidence,
		"/sites/status":           SiteStatus,
		"/orders/status":          OrderStatus,
		"/overview":               Overview,
		"/items/{itemId}/summary": ItemSummary,
	}
}

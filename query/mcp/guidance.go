package mcp

import (
	"strings"

	"preismon/query"
)

// guidance says what to do about the refusal of a read, where the contract's
// own words for people do not fit (GEN-G3, MCP-16b); "": nothing beyond them.
// It advises no selector that was given already.
func guidance(code string, asked query.ResultsRequest) string {
	switch code {
	case query.CodeScopeTooBroad:
		text := "Send the attempts, if there are any, in place of this call; together they cover it. " + shorter(asked)
		if asked.GlobalScope {
			text += " A global read keeps both bounds, no selector and at most 168 hours."
		}
		return text
	case query.CodeLatestPairTooBroad:
		ways := narrowing(asked)
		if ways == "" {
			return "Send the attempts in place of this call; together they cover it."
		}
		return "Narrow by " + ways + ". The attempts, if there are any, do so and together cover this call."
	case query.CodeQueryTimeout:
		return "Send the attempts, if there are any, in place of this call. " + shorter(asked) +
			" Keep what succeeded, and call the combined answer incomplete when a part is left out."
	case query.CodeOrderCoverageTooBroad:
		return "Name one order (orderId), lower limit, or leave out includeCoverage and includeMonitoring."
	case query.CodeValidation:
		return "Send the attempts in place of this call: a window needs a product, an order or a site, so they ask site by site. " +
			"Together they cover it."
	}
	return ""
}

// shorter is the order in which a read that is too large gets smaller: time
// before sites (GEN-G3).
func shorter(asked query.ResultsRequest) string {
	text := "Else reduce the window in the order 24, 12, 6, 1 hours"
	if asked.Site == "" {
		text += ", and only then read fewer sites"
	}
	return text + "."
}

// narrowing names the selectors that are not given; "": all are.
func narrowing(asked query.ResultsRequest) string {
	product := asked.ItemID != 0 || asked.PZN != "" || asked.EAN != "" || asked.ASIN != ""
	var ways []string
	if !product {
		ways = append(ways, "item (itemId)")
	}
	if asked.OrderID == 0 {
		ways = append(ways, "order (orderId)")
	}
	if asked.Site == "" {
		ways = append(ways, "site (site)")
	}
	if !product {
		ways = append(ways, "product identifier (ean, pzn, asin with asinLocale)")
	}
	if last := len(ways) - 1; last > 0 {
		return strings.Join(ways[:last], ", ") + " or " + ways[last]
	}
	return strings.Join(ways, "")
}

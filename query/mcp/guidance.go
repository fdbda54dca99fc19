package mcp

import (
	"slices"
	"strings"

	"preismon/query"
)

// sendAttempts is the first thing to do about a refusal.
const sendAttempts = "Send the attempts, if there are any, in place of this call; together they cover it. "

// guidance returns what to do about the refusal of a call of the tool, in terms
// of its own arguments, where the contract's words for people do not fit
// (GEN-G3, MCP-16b); "": nothing beyond them. It suggests no selector that was
// already given.
func (t tool) guidance(code string, request query.ResultsRequest) string {
	switch code {
	case query.CodeScopeTooBroad:
		text := sendAttempts + t.shorter(request)
		if request.GlobalScope && t.takes("capturedFrom") {
			text += " A global read keeps both bounds, no selector and at most 168 hours."
		}
		return text
	case query.CodeLatestPairTooBroad:
		ways := missingSelectors(request)
		if ways == "" {
			return "Send the attempts in place of this call; together they cover it."
		}
		return "Narrow by " + ways + ". The attempts, if there are any, do so and together cover this call."
	case query.CodeQueryTimeout:
		return sendAttempts + t.shorter(request) + " Keep what succeeded, and call the combined answer incomplete when a part is left out."
	case query.CodeOrderCoverageTooBroad:
		if !t.takes("includeCoverage") {
			return "Ask list_order_observation_quality with this orderId for its pairs, or list_orders for the order alone."
		}
		return "Name one order (orderId), lower limit, or leave out includeCoverage and includeMonitoring."
	case query.CodeValidation:
		what := "a window"
		if !t.takes("capturedFrom") {
			what = "since"
		}
		return "Send the attempts in place of this call: " + what + " needs a product, an order or a site, so they ask site by site. " +
			"Together they cover it."
	}
	return ""
}

// takes reports whether the tool has an argument.
func (t tool) takes(argument string) bool { return slices.Contains(t.arguments, argument) }

// shorter returns the order in which to reduce a read that is too large: time
// before sites (GEN-G3).
func (t tool) shorter(request query.ResultsRequest) string {
	var text string
	switch {
	case t.takes("capturedFrom"):
		text = "Else reduce the window in the order 24, 12, 6, 1 hours"
	case t.takes("since"):
		text = "Else take a later since: 24, 12, 6, 1 hours before until"
	default:
		return "Else name one order (orderId) or site, or lower limit."
	}
	if request.Site == "" {
		text += ", and only then read fewer sites"
	}
	return text + "."
}

// missingSelectors names the selectors that were not given; "": all were.
func missingSelectors(request query.ResultsRequest) string {
	product := request.ItemID != 0 || request.PZN != "" || request.EAN != "" || request.ASIN != ""
	var ways []string
	if !product {
		ways = append(ways, "item (itemId)")
	}
	if request.OrderID == 0 {
		ways = append(ways, "order (orderId)")
	}
	if request.Site == "" {
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

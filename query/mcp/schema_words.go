package mcp

// memberWords describe members of answers in a few words, by name, where the
// contract has no description.
var memberWords = map[string]string{
	// Of every answer, and of a page.
	"page": "Explorer with this question, for people", "pageOmits": "Arguments not shown there", "returned": "Records here",
	"completeness": "What is left to read", "complete": "Nothing is left", "reason": "Why not", cursorMember: "For the next page",
	"note": "A hint", "paging": "Of this page", "data": "Records", "query": "As interpreted",

	// Products, sites and orders.
	"itemId": "Product", "orderId": "Order", "orderIds": "Orders that watch it", "site": "Site key", "sites": "Site keys",
	"name": "Full name", "alias": "Your own name", "siteType": "Kind of site", "country": "ISO 3166-1", "currencyCode": "ISO 4217",
	"ean": "EAN or GTIN", "pzn": "Pharmazentralnummer", "asin": "With asinLocale", "asinLocale": "Marketplace of the asin",
	"brand": "Of the product", "manufacturer": "Of the product", "productName": "Of the product",
	"createdAt": "RFC 3339", "monitoring": "Sites and schedule", "coverage": "How much was observed", "health": "Judged by pairs that failed",
	"intervalMinutes": "Between runs", "lastRunAt": "Newest run", "nextRunAt": "Next due",

	// How observations went.
	"qualitySummary": "Pairs by reason", "priceObserved": "Pairs", "productUnavailable": "Pairs", "productNotFound": "Pairs",
	"accessTemporarilyRestricted": "Pairs", "siteTemporarilyUnavailable": "Pairs", "pending": "Pairs", "overdue": "Pairs", "unknown": "Pairs",
	"sourceCountsConsistent": "False: they contradict", "reasonCode": "Outcome", "lastCapturedAt": "Newest capture",

	// Files.
	"archivedAt": "RFC 3339", "sizeBytes": "Of the file", "contentType": "Media type",

	// Offers.
	"capturedAt": "RFC 3339", "coverageState": "Outcome", "lastProcessedAt": "When it was stored", "availability": "As observed",
	"merchant": "As observed", "deliveryText": "As observed", "offerTitle": "As observed", "productUrl": "Of the offer",
	"price": "Without shipping", "priceMoney": "Exact amount", "shippingCost": "Null: not observed", "value": "Amount", "amountMinor": "In minor units",
	"scale": "Best value", "appliesToSite": "Site key", "priceType": "Your label",

	// What was asked and compared.
	"scope": "Global: all sites", "timezone": "Of all times", "sort": "By capturedAt", "window": "Bounds of time", "limits": "What a read may cover",
	"since": "Compared with", "until": "Compared", "moved": "Pairs that moved", "kinds": "What moved",
	"capturedFrom": "Oldest capture", "capturedTo": "Newest capture", "oldestCapturedAt": "Of these offers", "newestCapturedAt": "Of these offers",
	"beside": "Compared with", "amount": "What is compared", "offers": "Which", "positions": "Products by market", "equal": "Positions", "below": "Positions",
	"cheapest": "Cheapest other offer", "reference": "Compared with",
	"min": "Lowest price", "median": "Lower middle price", "max": "Highest price",
}

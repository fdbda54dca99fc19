package maps

import "fmt"

// rejection is a row that did not become an offer, and why.
type rejection struct {
	Line   int    `json:"line"`   // physical line on which the row begins, from 1
	Code   string `json:"code"`   // a few words, the same for all rejections of this kind
	Reason string `json:"reason"` // a sentence about this row, and the setting that would help
	Text   string `json:"text"`   // the row, or its beginning
}

// cause is a kind of rejection: its code, and the settings of the mapping that
// would help. A cause without a setting of its own names the flag.
type cause struct{ code, help string }

// ImportedOtherwise is the reason of rows that contradict what was imported before.
const ImportedOtherwise = "imported otherwise"

var (
	notCSV             = &cause{"not CSV", "csv.lazyQuotes: true takes quotation marks inside a field as they are"}
	quoteOpen          = &cause{"not CSV", "close it in the file, or double it; csv.lazyQuotes: false rejects the lines with stray ones alone"}
	fieldCount         = &cause{"number of fields", "csv.delimiter says what stands between fields, csv.lazyQuotes: true takes stray quotation marks"}
	notUTF8            = &cause{"not UTF-8", "csv.encoding: windows-1252 reads older files"}
	siteNone           = &cause{"site", "columns.site.value is used where the column is blank"}
	siteUnknown        = &cause{"site", "sites and defaultSite give the facts of sites, sites.NAME.site another key"}
	productNone        = &cause{"product", "columns.productKey, columns.ean, columns.pzn or columns.asin may name a column that has one"}
	productLong        = &cause{"product", "columns.productKey may name a shorter one"}
	productRounded     = &cause{"product", "format the column there as a number without decimals, or name in columns.productKey one that tells products apart"}
	timeNone           = &cause{"capture time", "instead of a column, columns.capturedAt.value or columns.capturedAt.from says it"}
	timeUnread         = &cause{"capture time", "columns.capturedAt.layouts takes more forms"}
	timeZoneless       = &cause{"capture time", "columns.capturedAt.zone names one"}
	timeRange          = &cause{"capture time", "columns.capturedAt.layouts and columns.capturedAt.zone say how it is read"}
	currencyUnknown    = &cause{"currency", "columns.currency.values translates what the column says"}
	priceUnread        = &cause{"price", "columns.price.decimal, columns.price.thousands and columns.price.strip say how it is written"}
	priceDecimals      = &cause{"price decimals", "columns.price.decimal and columns.price.thousands say which mark is which, columns.currency the currency"}
	priceFraction      = &cause{"price", "columns.price.minor: false reads the main unit"}
	shippingUnread     = &cause{"shipping", "columns.shipping.decimal, columns.shipping.thousands and columns.shipping.strip say how it is written, columns.shipping.zero which words mean 0"}
	shippingDecimals   = &cause{"shipping decimals", "columns.shipping.decimal and columns.shipping.thousands say which mark is which, columns.currency the currency"}
	shippingFraction   = &cause{"shipping", "columns.shipping.minor: false reads the main unit"}
	availabilityUnread = &cause{"availability", "columns.availability.yes and columns.availability.no take more words"}
	availableUnpriced  = &cause{"no price", "columns.availability.no takes the word, if it means unavailable"}
	priceNone          = &cause{"no price", "columns.price.missing: unavailable (or unknown) takes such rows"}
	merchantLong       = &cause{"merchant", "columns.merchant may name a shorter one"}
	sameRow            = &cause{"exact duplicate", "distinguish names columns that distinguish offers"}
	manyOffers         = &cause{"too many offers", "columns.capturedAt.clock, or a layout with a time of day in columns.capturedAt.layouts, distinguishes captures"}
	manyBytes          = &cause{"too many bytes", "columns.title, columns.url and columns.deliveryText can be left out"}
	unavailableAmong   = &cause{"unavailable among offers", "columns.capturedAt.clock, or a layout with a time of day in columns.capturedAt.layouts, distinguishes captures"}
	nothingAmong       = &cause{"no price among others", "columns.capturedAt.clock, or a layout with a time of day in columns.capturedAt.layouts, distinguishes captures"}
	otherwiseKnown     = &cause{ImportedOtherwise, "--conflicts add keeps both"}
)

// reject returns the rejection of a row: what is wrong with it, and what would
// help.
func reject(line int, why *cause, format string, args ...any) *rejection {
	return &rejection{Line: line, Code: why.code, Reason: fmt.Sprintf(format, args...) + "; " + why.help}
}

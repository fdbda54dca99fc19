package mcp

import "preismon/query/wire"

func listASINLocales() tool {
	return tool{
		name: "list_asin_locales", title: "ASIN locales", operation: "listAsinLocales", arguments: wire.Operation(wire.ASINLocales).Parameters(),
		about:  "Lists the asinLocale keys of your products, all at once. Needed beside every asin.",
		answer: contractAnswer("listAsinLocales"),
		run:    pages(wire.ASINLocales),
	}
}

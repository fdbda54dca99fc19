package mcp

import "preismon/query/wire"

func listSites() tool {
	return tool{
		name: "list_sites", title: "Sites", operation: "listSites", arguments: wire.Operation(wire.Sites).Parameters(),
		about: "Lists the shops, marketplaces and platforms you can see. Start here: other tools take `site` keys from it. " +
			"`canonicalCountryMarket` marks the only sites with isPrime and isBuyBox.",
		answer: contractAnswer("listSites"),
		run:    pages(wire.Sites),
	}
}

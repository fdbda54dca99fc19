// Program generated reads the service with the client that oapi-codegen
// generated from its contract. Its arguments are the base URL, a login and its
// password, and an order that has files; it prints what it read.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"
	"time"

	"generated/client"
)

func main() {
	log.SetFlags(0)
	base, login, password, order := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx := context.Background()
	c, err := client.NewClientWithResponses(base)
	check(err)
	token, err := c.CreateTokenWithResponse(ctx, client.TokenRequest{LoginIdentifier: login, Password: password})
	read("createToken", err, token.Body, token.JSON200)
	authorized := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token.JSON200.AccessToken)
		return nil
	}

	health, err := c.GetHealthWithResponse(ctx)
	read("getHealth", err, health.Body, health.JSON200)
	sites, err := c.ListSitesWithResponse(ctx, &client.ListSitesParams{}, authorized)
	read("listSites", err, sites.Body, sites.JSON200)
	limit := "20"
	items, err := c.ListItemsWithResponse(ctx, &client.ListItemsParams{Limit: &limit}, authorized)
	read("listItems", err, items.Body, items.JSON200)
	locales, err := c.ListAsinLocalesWithResponse(ctx, authorized)
	read("listAsinLocales", err, locales.Body, locales.JSON200)
	orders, err := c.ListOrdersWithResponse(ctx, &client.ListOrdersParams{}, authorized)
	read("listOrders", err, orders.Body, orders.JSON200)
	one, err := c.GetOrderWithResponse(ctx, order, authorized)
	read("getOrder", err, one.Body, one.JSON200)
	quality, err := c.ListObservationQualityWithResponse(ctx, order, &client.ListObservationQualityParams{}, authorized)
	read("listObservationQuality", err, quality.Body, quality.JSON200)
	exports, err := c.ListExportsWithResponse(ctx, order, &client.ListExportsParams{}, authorized)
	read("listExports", err, exports.Body, exports.JSON200)
	exported, err := c.ListExportHistoryWithResponse(ctx, order, &client.ListExportHistoryParams{}, authorized)
	read("listExportHistory", err, exported.Body, exported.JSON200)
	imports, err := c.ListImportsWithResponse(ctx, order, &client.ListImportsParams{}, authorized)
	read("listImports", err, imports.Body, imports.JSON200)
	imported, err := c.ListImportHistoryWithResponse(ctx, order, &client.ListImportHistoryParams{}, authorized)
	read("listImportHistory", err, imported.Body, imported.JSON200)
	capabilities, err := c.GetResultsCapabilitiesWithResponse(ctx, authorized)
	read("getResultsCapabilities", err, capabilities.Body, capabilities.JSON200)
	few, whole := 20, true
	results, err := c.ListResultsWithResponse(ctx, &client.ListResultsParams{Limit: &few, IncludeExportFields: &whole}, authorized)
	read("listResults", err, results.Body, results.JSON200)

	refused, err := c.GetOrderWithResponse(ctx, "18446744073709551615", authorized)
	read("a problem", err, refused.Body, refused.ApplicationproblemJSON404)
}

// read compares the typed answer with the bytes it came from: nothing that the
// server sent is missing or changed in it.
func read(operation string, err error, body []byte, typed any) {
	check(err)
	if reflect.ValueOf(typed).IsNil() {
		log.Fatalf("%s: no typed answer: %s", operation, body)
	}
	text, err := json.Marshal(typed)
	check(err)
	if sent, kept := plain(body), plain(text); !reflect.DeepEqual(sent, kept) {
		log.Fatalf("%s:\nsent %s\nread %s", operation, body, text)
	}
	fmt.Println(operation)
}

// plain returns JSON as values. Go does not distinguish a null member from an
// absent one, nor two spellings of an instant.
func plain(text []byte) any {
	var v any
	check(json.Unmarshal(text, &v))
	return same(v)
}

func same(v any) any {
	switch v := v.(type) {
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return t.UTC().String()
		}
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				v[name] = same(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = same(v[i])
		}
	}
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

package mcp

import (
	"context"
	"embed"
	"maps"
	"slices"
	"strings"
	"text/template"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/contracts/plaintext"
	"preismon/query"
	"preismon/query/wire"
)

// instructions are what a client is told about the server.
//
//go:embed INSTRUCTIONS.md
var instructions string

//go:embed prompts
var promptFiles embed.FS

// promptTexts are the tasks, by file name. A value that is not given is
// empty; one that is given is quoted.
var promptTexts = template.Must(template.ParseFS(promptFiles, "prompts/*.md"))

// maxPromptRunes bounds a value that a client puts into a task.
const maxPromptRunes = 200

// prompts are the tasks that a user can start (PROM-01).
func prompts() []Prompt {
	product := []string{"itemId", "ean", "pzn", "asin", "asinLocale"}
	return []Prompt{
		prompt("analyze-buybox", "Who holds the buy box at a country market, product by product", nil, "site", "orderId", "itemId"),
		prompt("check-price-availability", "Prices and availability of a product, an order, a site or a time", nil,
			slices.Concat(product, []string{"orderId", "site", "capturedFrom", "capturedTo", "timezone"})...),
		prompt("inspect-observation", "What one observation of a product at a site says", nil, "itemId", "ean", "site", "capturedAt"),
		prompt("analyze-market-price-position", "Where a price would stand among the current offers of a product", []string{"candidatePrice"},
			slices.Concat(product, []string{"currencyCode", "country", "includeCustomerReference"})...),
		prompt("review-observed-shops", "Which sites are observed, and how well", nil, "country", "orderId"),
	}
}

func prompt(name, about string, required []string, optional ...string) Prompt {
	p := Prompt{Descriptor: sdk.Prompt{Name: name, Description: about}}
	for _, argument := range slices.Concat(required, optional) {
		p.Descriptor.Arguments = append(p.Descriptor.Arguments, &sdk.PromptArgument{
			Name: argument, Description: promptWords(argument), Required: slices.Contains(required, argument),
		})
	}
	p.Text = func(_ context.Context, _ query.Principal, given map[string]string) (string, error) {
		return task(name, required, optional, given)
	}
	return p
}

// promptWords say what an argument means: mostly what it means in tools.
func promptWords(argument string) string {
	if argument == "capturedAt" {
		return "Capture time as RFC 3339"
	}
	return words[argument]
}

// task fills a text with the values that are given (PROM-02).
func task(name string, required, optional []string, given map[string]string) (string, error) {
	values := map[string]string{}
	for _, argument := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(required, argument) && !slices.Contains(optional, argument) {
			return "", fault.New(fault.Invalid, query.CodeValidation, "%s: unknown argument.", wire.Quote(argument))
		}
		if value := plaintext.Clean(given[argument], maxPromptRunes); value != "" {
			quoted, err := wire.Marshal(value)
			if err != nil {
				return "", err
			}
			values[argument] = string(quoted)
		}
	}
	for _, argument := range required {
		if values[argument] == "" {
			return "", fault.New(fault.Invalid, query.CodeValidation, "%s: missing.", argument)
		}
	}
	if (values["asin"] == "") != (values["asinLocale"] == "") {
		return "", fault.New(fault.Invalid, query.CodeValidation, "asin and asinLocale need one another.")
	}
	var b strings.Builder
	err := promptTexts.ExecuteTemplate(&b, name+".md", values)
	return strings.TrimSpace(b.String()), err
}

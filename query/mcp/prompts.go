package mcp

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"strings"
	"text/template"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/contracts/plaintext"
	"preismon/query"
	"preismon/query/wire"
)

// instructions are what clients are told about the server.
//
//go:embed INSTRUCTIONS.md
var instructions string

//go:embed prompts
var promptFiles embed.FS

// promptTexts are the tasks, by file name. A value that is not given is empty;
// one that is given is quoted.
var promptTexts = template.Must(template.ParseFS(promptFiles, "prompts/*.md"))

// maxPromptRunes bounds a value that a client puts into a task.
const maxPromptRunes = 200

// task is one thing that a user can start.
type task struct {
	name, title, about string
	required, optional []string
	check              checker
	reads              []contracts.Permission // what its calls read
	newest             newest                 // nil: it prints no read of the newest rows
}

// tasks returns the tasks that a user can start (PROM-01).
func tasks() []task {
	product := []string{"itemId", "ean", "pzn", "asin", "asinLocale"}
	return []task{
		{
			name: "analyze-buybox", title: "Buy box", about: "Who holds the buy box at a country market, product by product",
			optional: []string{"site", "orderId", "itemId"}, check: resultsCall, newest: buyBoxCall,
			reads: []contracts.Permission{contracts.ReadSites, contracts.ReadResults},
		},
		{
			name: "check-price-availability", title: "Prices and availability", about: "Prices and availability of a product, an order, a site or a time",
			optional: slices.Concat(product, []string{"orderId", "site", "capturedFrom", "capturedTo", "timezone"}), check: resultsCall, newest: newestCall,
			reads: []contracts.Permission{contracts.ReadSites, contracts.ReadResults},
		},
		{
			name: "inspect-observation", title: "One observation", about: "What one observation of a product at a site says",
			optional: []string{"itemId", "ean", "site", "capturedAt"}, check: observationCall,
			reads: []contracts.Permission{contracts.ReadItems, contracts.ReadSites, contracts.ReadResults},
		},
		{
			name: "analyze-market-price-position", title: "Price position", about: "Where a price would stand among the current offers of a product",
			required: []string{"candidatePrice"}, optional: slices.Concat(product, []string{"currencyCode", "country", "includeCustomerReference"}),
			check: positionCall, reads: []contracts.Permission{contracts.ReadResults},
		},
		{
			name: "review-observed-shops", title: "Observed shops", about: "Which sites are observed, and how well",
			optional: []string{"country", "orderId"}, check: orderCall,
			reads: []contracts.Permission{contracts.ReadSites, contracts.ReadOrders, contracts.ReadResults},
		},
	}
}

// prompts returns the tasks as they are offered.
func prompts(s *query.Service) (all []Prompt) {
	for _, t := range tasks() {
		p := Prompt{Descriptor: sdk.Prompt{Name: t.name, Title: t.title, Description: t.about}}
		for _, argument := range slices.Concat(t.required, t.optional) {
			p.Descriptor.Arguments = append(p.Descriptor.Arguments, &sdk.PromptArgument{
				Name: argument, Description: promptWords(argument), Required: slices.Contains(t.required, argument),
			})
		}
		p.Text = func(ctx context.Context, caller query.Principal, given map[string]string) (string, error) {
			if err := s.May(ctx, caller, t.reads...); err != nil {
				return "", err
			}
			return t.text(ctx, s, caller, given)
		}
		all = append(all, p)
	}
	return all
}

// promptWords returns what an argument means: usually the same as in tools.
func promptWords(argument string) string {
	if argument == "capturedAt" {
		return "Capture time as RFC 3339"
	}
	return briefly(argument)
}

// text fills the task with the values that are given (PROM-02), if the calls
// that it prints will be accepted; otherwise it names all faults.
func (t task) text(ctx context.Context, s *query.Service, p query.Principal, given map[string]string) (string, error) {
	var faults []string
	cleaned, values := wire.Arguments{}, map[string]string{}
	for _, argument := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(t.required, argument) && !slices.Contains(t.optional, argument) {
			faults = append(faults, wire.Quote(argument)+": unknown argument.")
			continue
		}
		value := plaintext.Clean(given[argument], maxPromptRunes)
		if value == "" {
			continue
		}
		quoted, err := wire.Marshal(value)
		if err != nil {
			return "", err
		}
		cleaned[argument], values[argument] = value, string(quoted)
		if argument == "includeCustomerReference" { // not a text in a call
			values[argument] = value
		}
	}
	if err := t.check(ctx, s, p, cleaned); err != nil {
		refused, ok := errors.AsType[*fault.Error](err)
		if !ok {
			return "", err
		}
		faults = append(faults, refused.Msg)
	}
	if len(faults) > 0 {
		return "", fault.New(fault.Invalid, query.CodeValidation, "%s", strings.Join(faults, " "))
	}
	if t.newest != nil {
		var err error
		if values["newest"], err = t.newest(ctx, s, p, cleaned); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	err := promptTexts.ExecuteTemplate(&b, t.name+".md", values)
	return strings.TrimSpace(b.String()), err
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"preismon/contracts/fault"
	"preismon/contracts/plaintext"
	"preismon/query"
	"preismon/query/wire"
)

// lists are the tools that list what a selector may name.
var lists = map[string]string{"site": "list_sites", "orderId": "list_orders", "alias": "list_orders"}

// noteOf reports, for a call without records, which of its selectors name
// nothing that the caller sees, and what is similar; empty: each names
// something. An answer is sufficient without the note, so it does not wait for
// it long.
func noteOf(ctx context.Context, s *query.Service, c Call) string {
	ctx, cancel := context.WithTimeout(ctx, maxLooking)
	defer cancel()
	in := wire.FromArguments(c.Arguments)
	selected, alias := wire.Selected(in), wire.Alias(in)
	if in.Wrong() {
		return ""
	}
	unseen, err := s.Unseen(ctx, c.Principal, selected, alias)
	if err != nil {
		return ""
	}
	var all []string
	for _, u := range unseen {
		all = append(all, said(u))
	}
	return strings.Join(all, " ")
}

func said(u query.Unseen) string {
	if u.Selector == "" {
		return "None of your orders watches this product at this site; each is watched elsewhere."
	}
	from := lists[u.Selector]
	if from == "" {
		from = "list_items"
	}
	if len(u.Nearest) == 0 {
		return fmt.Sprintf("%s %s is not among those you see: check it with %s.", u.Selector, wire.Quote(u.Given), from)
	}
	var similar []string
	for _, name := range u.Nearest {
		similar = append(similar, plaintext.Clean(name, maxTextRunes))
	}
	return fmt.Sprintf("%s %s is not among those you see. Similar: %s.", u.Selector, wire.Quote(u.Given), strings.Join(similar, ", "))
}

// explained adds to a refusal of an order which orders are similar to it.
func explained(ctx context.Context, s *query.Service, c Call, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != query.CodeOrderNotFound {
		return err
	}
	return &failureOf{error: err, note: strings.TrimSpace(noteOf(ctx, s, c) + " orderId is the number that list_orders gives.")}
}

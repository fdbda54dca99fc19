package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"preismon/contracts"
	"preismon/ingest"
)

// listed returns the values of a flag; a value @FILE is replaced by the words of
// that file.
func listed(flag string, values []string) (all []string, err error) {
	for _, v := range values {
		name, isFile := strings.CutPrefix(v, "@")
		if !isFile {
			all = append(all, v)
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, faulty(fmt.Errorf("%s: %w", flag, err))
		}
		text, err := io.ReadAll(userText(bytes.NewReader(content)))
		if err != nil {
			return nil, faulty(fmt.Errorf("%s: %s: %w", flag, name, err))
		}
		all = append(all, strings.Fields(string(text))...)
	}
	return all, nil
}

// itemsOf returns items of the catalogue by their EANs or ids. Its error names
// those that do not exist.
func itemsOf(ctx context.Context, b *bus, flag string, values []string) (found []contracts.ItemID, err error) {
	wanted, err := listed(flag, values)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	all, err := ingest.Items(ctx, b.js)
	if err != nil {
		return nil, err
	}
	byText := map[string][]contracts.ItemID{}
	for _, i := range all {
		byText[i.ItemID.String()] = append(byText[i.ItemID.String()], i.ItemID)
		if i.EAN != "" {
			byText[i.EAN] = append(byText[i.EAN], i.ItemID)
		}
	}
	var unknown []string
	for _, text := range wanted {
		if byText[text] == nil {
			unknown = append(unknown, text)
		}
		found = append(found, byText[text]...) // for an EAN, all items that have it
	}
	return found, missing(flag, "item of the catalogue", unknown)
}

// sitesOf returns sites of the catalogue.
func sitesOf(known []*contracts.Site, flag string, values []string) (found []contracts.SiteKey, err error) {
	var unknown []string
	for _, text := range values {
		if !slices.ContainsFunc(known, func(s *contracts.Site) bool { return string(s.Site) == text }) {
			unknown = append(unknown, text)
		}
		found = append(found, contracts.SiteKey(text))
	}
	return found, missing(flag, "site of the catalogue; `preismon catalogue sites list` lists them", unknown)
}

// missing returns the fault of values that do not exist; nil: there are none.
func missing(flag, what string, values []string) error {
	const shown = 5
	if len(values) == 0 {
		return nil
	}
	more := ""
	if n := len(values) - shown; n > 0 {
		more = fmt.Sprintf(" and %s more", thousands(n))
		values = values[:shown]
	}
	return faulty(fmt.Errorf("%s: %s%s: no %s", flag, strings.Join(values, ", "), more, what))
}

// changedSet returns a set with some values added and some removed, in its
// order; a value in both is removed.
func changedSet[T comparable](set, add, remove []T) []T {
	gone := make(map[T]bool, len(remove)+len(set)+len(add))
	for _, v := range remove {
		gone[v] = true
	}
	var changed []T
	for _, v := range slices.Concat(set, add) {
		if !gone[v] {
			gone[v] = true // each value only once
			changed = append(changed, v)
		}
	}
	return changed
}

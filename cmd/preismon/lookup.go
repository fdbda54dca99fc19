package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"preismon/cmd/preismon/client"
	"preismon/query"
)

type lookupCmd struct {
	remoteFlags
	tableFlag
	Ean      []string `help:"EANs or GTINs." env:"-" placeholder:"DIGITS"`
	Pzn      []string `help:"Pharmazentralnummern." env:"-" placeholder:"DIGITS"`
	Asin     []string `help:"ASINs, each with its marketplace locale: B000000001:de." env:"-" placeholder:"ASIN:LOCALE"`
	ItemID   []string `name:"item-id" help:"Ids of items." env:"-" placeholder:"ID"`
	File     string   `help:"File of identifiers, one per line; - is standard input." env:"-" placeholder:"FILE"`
	Kind     string   `help:"What the lines of --file are: ${enum}." enum:"ean,pzn,asin,item-id" default:"ean" env:"-"`
	Timezone string   `help:"IANA zone of the times in the answer." env:"-" placeholder:"ZONE"`
}

var lookupFields = []string{"asked", "known", "seen", "items", "noResult", "latest"}

// identifier is one identifier and its kind.
type identifier struct {
	kind, value string
	line        int // of the file; 0: it is from a flag
}

func (c *lookupCmd) Run(ctx context.Context, std streams) error {
	all, err := c.identifiers(std.in)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return faulty(errors.New("nothing to look up: give --ean, --pzn, --asin, --item-id or --file"))
	}
	params := url.Values{}
	if c.Timezone != "" {
		params.Set("timezone", c.Timezone)
	}
	r, err := c.connect(std)
	if err != nil {
		return err
	}
	out, err := c.writer(std, lookupFields, query.LookupColumns())
	if err != nil {
		return err
	}
	for n, part := range slices.Collect(slices.Chunk(all, client.MaxLookups)) {
		rows, err := r.Lookup(ctx, byKind(part), params)
		if err != nil {
			err = located(r.explain(err), part)
			if n > 0 {
				err = errors.Join(errIncomplete, err)
			}
			return errors.Join(err, out.Flush())
		}
		for _, row := range rows {
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// identifiers returns those of the flags and of the file.
func (c *lookupCmd) identifiers(in io.Reader) (all []identifier, err error) {
	for _, given := range []struct {
		kind   string
		values []string
	}{{"ean", c.Ean}, {"pzn", c.Pzn}, {"asin", c.Asin}, {"item-id", c.ItemID}} {
		for _, value := range given.values {
			all = append(all, identifier{given.kind, value, 0})
		}
	}
	switch c.File {
	case "":
		return all, nil
	case "-":
	default:
		f, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // was only read
		in = f
	}
	lines := bufio.NewScanner(userText(in))
	heading := true
	for n := 1; lines.Scan(); n++ {
		value := strings.TrimSpace(lines.Text())
		if text, ok := strings.CutPrefix(value, `"`); ok {
			value = strings.TrimSuffix(text, `"`)
		}
		if value == "" {
			continue
		}
		if !heading || !slices.Contains(headings, strings.ToLower(value)) {
			all = append(all, identifier{c.Kind, value, n})
		}
		heading = false
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return all, nil
}

// headings are the first lines of files that are no identifiers, in small letters.
var headings = []string{"ean", "gtin", "pzn", "asin", "item-id", "itemid", "item_id"}

// userText returns the text of a user without a byte order mark; one in UTF-16, as
// programs of Windows write it, becomes UTF-8.
func userText(in io.Reader) io.Reader {
	return transform.NewReader(in, unicode.BOMOverride(transform.Nop))
}

// kindNames are the names of the kinds in the contract.
var kindNames = map[string]string{"ean": "eans", "pzn": "pzns", "asin": "asins", "item-id": "itemIds"}

// byKind groups identifiers by their kind in the contract.
func byKind(part []identifier) url.Values {
	all := url.Values{}
	for _, i := range part {
		all.Add(kindNames[i.kind], i.value)
	}
	return all
}

// placed matches how a refusal names the place of an identifier.
var placed = regexp.MustCompile(`\b(eans|pzns|asins|itemIds)\[(\d+)\](\.\w+)?`)

// located makes a refusal name the lines of the file, or the flags.
func located(err error, part []identifier) error {
	text := placed.ReplaceAllStringFunc(err.Error(), func(place string) string {
		match := placed.FindStringSubmatch(place)
		n, _ := strconv.Atoi(match[2]) // digits
		for _, i := range part {
			if kindNames[i.kind] != match[1] {
				continue
			}
			if n--; n >= 0 {
				continue
			}
			if i.line > 0 {
				return fmt.Sprintf("line %d", i.line)
			}
			return "--" + i.kind
		}
		return place
	})
	return flagged{err, text}
}

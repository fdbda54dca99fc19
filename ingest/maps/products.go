package maps

import (
	"cmp"
	"strings"
	"time"

	"preismon/contracts"
)

// site returns the site that the column calls value, and creates it if
// necessary.
func (b *book) site(value string, line int) (*site, *rejection) {
	if value == "" {
		return nil, reject(line, siteNone, "no site")
	}
	if b.lastSite != nil && b.lastValue == value {
		return b.lastSite, nil
	}
	s, ok := b.sites[value]
	if !ok {
		facts, err := b.m.site(value)
		if err != nil {
			return nil, reject(line, siteUnknown, "site %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if s = b.byKey[facts.Site]; s == nil {
			value = strings.Clone(value)
			facts.Name = strings.Clone(facts.Name)
			facts.Site = contracts.SiteKey(strings.Clone(string(facts.Site)))
			_, listed := b.m.Sites[value]
			s = &site{Site: facts, index: len(b.ordered), listed: listed, zone: b.m.zone(value), products: map[string]*product{}, pairs: map[contracts.ItemID]*pair{}}
			b.byKey[facts.Site] = s
			b.ordered = append(b.ordered, s)
			if !listed {
				(&rowWarnings{t: b.tally, line: line}).add(siteUnnamed)
			}
		}
		b.sites[strings.Clone(value)] = s
	}
	b.lastSite, b.lastValue = s, value
	return s, nil
}

// zone returns the zone to assume for times of the site.
func (m *Mapping) zone(value string) *time.Location {
	name := cmp.Or(m.Sites[value].Zone, m.defaults().Zone)
	if name == "" {
		return m.Columns.CapturedAt.zone
	}
	loc, _ := location(name) // ParseMapping has refused others
	return loc
}

// product returns the product of a row, and creates it if necessary.
func (b *book) product(c *Columns, rec []string, s *site, line int) (*product, *rejection) {
	keys := [5]string{c.ProductKey.read(rec), c.EAN.at.read(rec), c.PZN.at.read(rec), c.ASIN.read(rec)}
	if keys[3] != "" {
		keys[4] = strings.ToLower(c.ASINLocale.read(rec))
	}
	if b.lastProduct != nil && b.lastProduct.site == s && keys == b.lastKeys {
		return b.lastProduct, nil
	}
	full := strings.Join(keys[:], "\x00")
	p := s.products[full]
	if p == nil {
		for i := range keys {
			keys[i] = strings.Clone(keys[i])
		}
		key := cmp.Or(keys[0], ownKey(keys[1]), ownKey(keys[2]), keys[3])
		if key == "" && rounded(keys[1]) {
			return nil, reject(line, productRounded, "a spreadsheet has rounded the EAN to %q, which other products may have, too", keys[1])
		}
		if key == "" {
			return nil, reject(line, productNone, "no product key")
		}
		if len(key) > 1024 {
			return nil, reject(line, productLong, "the product key has %d bytes, at most 1024", len(key))
		}
		p = &product{key: key, pair: b.pair(s, b.item(s, key, keys, line))}
		s.products[strings.Clone(full)] = p
	}
	b.lastProduct = p
	b.lastKeys = keys
	return p, nil
}

var eanDoubts = map[eanClass]warning{eanPadded: eanPad, eanInStore: eanStore, eanBadDigit: eanDigit, eanBadLength: eanLength, eanNoDigits: eanText}

// item returns the item for the keys of a product, and creates it if necessary:
// by its EAN, otherwise PZN, otherwise ASIN, otherwise by the site's own key.
func (b *book) item(s *site, key string, keys [5]string, line int) *item {
	c := &b.m.Columns
	d := rowWarnings{t: b.tally, line: line}
	known := contracts.Item{}
	gtin, class := classifyEAN(keys[1], c.EAN.PadTo12)
	known.EAN = gtin
	if doubt, ok := eanDoubts[class]; ok {
		d.add(doubt)
	}
	if keys[2] != "" {
		pzn, padded, ok := classifyPZN(keys[2], c.PZN.Pad == 8)
		d.addIf(!ok, pznWrong)
		d.addIf(ok && padded, pznPad)
		if ok {
			known.PZN = pzn
		}
	}
	if asin := strings.ToUpper(keys[3]); asin != "" {
		try := contracts.Item{ItemID: 1, ASIN: asin, ASINLocale: keys[4]}
		if try.Validate() == nil {
			known.ASIN, known.ASINLocale = asin, keys[4]
		} else {
			d.add(asinWrong)
		}
	}
	own := false
	switch {
	case known.EAN != "" && class != eanInStore:
		known.ItemID = contracts.DeriveID[contracts.ItemID]("ean", gtin14(known.EAN))
	case known.PZN != "":
		known.ItemID = contracts.DeriveID[contracts.ItemID]("pzn", known.PZN)
	case known.ASIN != "":
		known.ItemID = contracts.DeriveID[contracts.ItemID]("asin", known.ASINLocale, known.ASIN)
	default:
		own = true
		known.ItemID = contracts.DeriveID[contracts.ItemID]("key", b.m.Source, string(s.Site.Site), key)
	}
	it := b.items[known.ItemID]
	if it == nil {
		it = &item{Item: known, index: len(b.list), ownKey: own}
		b.items[known.ItemID] = it
		b.list = append(b.list, it)
		return it
	}
	if known.EAN != "" && it.EAN != known.EAN {
		if !it.forms {
			it.forms = true
			d.add(eanForms)
		}
		if eanRank(known.EAN) > eanRank(it.EAN) {
			it.EAN = known.EAN
		}
	}
	if it.PZN == "" {
		it.PZN = known.PZN
	}
	if it.ASIN == "" {
		it.ASIN, it.ASINLocale = known.ASIN, known.ASINLocale
	}
	return it
}

func (b *book) pair(s *site, it *item) *pair {
	p := s.pairs[it.ItemID]
	if p == nil {
		p = &pair{site: s, item: it}
		s.pairs[it.ItemID] = p
	}
	return p
}

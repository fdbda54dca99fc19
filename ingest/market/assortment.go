package market

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"preismon/contracts"
)

// category is a part of the assortment.
type category struct {
	name       string
	count      int // items at scale 1
	brands     []brand
	kinds      []kind
	coverage   []coverage
	pzn        bool
	of, locale string // its items are those of another category, at the country market of this locale
}

// brand is one of the invented brands, with its maker as spelled in the master
// data and by shops.
type brand struct {
	name, maker string
	spellings   []string
}

// kind is a type of product: its name, its price range in EUR cents, and the
// parts of its names.
type kind struct {
	name     string
	low, top int64
	marks    []string
	variants []string
}

// coverage is the share of a category, in 1/100, that a site is searched for.
type coverage struct{ site, share int }

func spelled(name, maker string) brand {
	return brand{name: name, maker: maker, spellings: []string{maker, strings.ToUpper(name), strings.TrimSuffix(maker, " (simulated)"), "Fa. " + name, ""}}
}

var (
	colours = []string{"schwarz", "weiß", "anthrazit", "rot", "mintgrün", "königsblau", "Edelstahl gebürstet"}

	electronicsBrands = []brand{
		spelled("Nordklang", "Nordklang GmbH (simulated)"), spelled("Ölfink", "Ölfink Elektro AG (simulated)"),
		spelled("Brümmer & Löw", "Brümmer & Löw KG (simulated)"), spelled("Vantor", "Vantor Electronics B.V. (simulated)"),
		spelled("Häwelmann", "Häwelmann Hausgeräte GmbH (simulated)"), spelled("O'Brannagh", "O'Brannagh Ltd. (simulated)"),
		spelled("Kirschblüte", "桜 Electronics K.K. (simulated)"), spelled("Zappelin", "Zappelin S.à r.l. (simulated)"),
	}
	electronicsKinds = []kind{
		{"Soundbar", 8_900, 79_900, []string{`"Förde" 2.1`, `"Alster" 3.1`, `5.1 Kino+`}, []string{"mit kabellosem Subwoofer", "240 W", "mit HDMI eARC"}},
		{"Bluetooth-Kopfhörer", 2_490, 34_900, []string{"Over-Ear", "In-Ear", "Sport"}, []string{"mit Geräuschunterdrückung", "40 Std. Akku", "faltbar"}},
		{"Fernseher", 24_900, 249_900, []string{`43" (108 cm)`, `55" (139 cm)`, `65" (164 cm)`}, []string{"4K UHD", "QLED, 120 Hz", "OLED"}},
		{"Kaffeevollautomat", 29_900, 129_900, []string{"Crema One", "Größe M", "Barista Plus"}, []string{"mit Milchsystem", "19 bar", "Mahlwerk aus Keramik"}},
		{"Staubsauger", 6_900, 49_900, []string{"beutellos", "mit Beutel", "Akku"}, []string{"700 W", "HEPA-Filter", "für Tierhaare"}},
		{"USB-C-Ladegerät", 990, 7_990, []string{"65 W", "100 W GaN", "20 W mini"}, []string{"2 Anschlüsse", "mit Kabel 1,5 m", "Reiseset"}},
		{"Wasserkocher", 1_990, 8_990, []string{"1,7 l", "1,0 l", "Retro"}, []string{"Temperaturwahl", "doppelwandig", "2.200 W"}},
		{"Smartwatch", 4_990, 39_900, []string{"Puls 3", "Größe L", "Trekking"}, []string{"GPS", "5 ATM", "mit Silikonarmband"}},
	}
	toyBrands = []brand{
		spelled("Brummbär", "Brummbär Spielwaren GmbH (simulated)"), spelled("Klötzchen", "Klötzchen-Werk Süd GmbH & Co. KG (simulated)"),
		spelled("Räuberhöhle", "Räuberhöhle Verlag (simulated)"), spelled("Petit Hérisson", "Petit Hérisson S.A.S. (simulated)"),
		spelled("Tüfteltiger", "Tüfteltiger e. K. (simulated)"),
	}
	toyKinds = []kind{
		{"Bausteine-Set", 999, 24_999, []string{`"Burg Drachenfels"`, `"Müllabfuhr"`, `"Raumhafen"`}, []string{"412 Teile", "1.210 Teile", "ab 4 Jahren"}},
		{"Brettspiel", 1_499, 5_999, []string{`"Wer klaut den Käse?"`, `"Äpfel & Birnen"`, `"Nachtzug"`}, []string{"2–5 Spieler", "ab 8 Jahren", "Neuauflage"}},
		{"Plüschtier", 799, 4_499, []string{"Bär Ötzi", "Fuchs Flönz", "Otter Änne"}, []string{"30 cm", "waschbar", "mit Schleife"}},
		{"Puzzle", 599, 2_499, []string{`"Hamburg bei Nacht"`, `"1001 Käfer"`, `"Weißwurst"`}, []string{"1000 Teile", "3D", "XXL"}},
		{"Laufrad", 3_999, 14_999, []string{`10"`, `12"`, `14"`}, []string{"höhenverstellbar", "mit Bremse", "Holz"}},
	}
	drugBrands = []brand{
		spelled("Lindenhof", "Lindenhof Pflege GmbH (simulated)"), spelled("Süße Seife", "Süße Seife Manufaktur (simulated)"),
		spelled("Klarwäsch", "Klarwäsch AG (simulated)"), spelled("bebé d'or", "bebé d'or Cosmétique (simulated)"),
	}
	drugKinds = []kind{
		{"Duschgel", 95, 595, []string{"Grüner Tee", "Meeresbrise", "Öl & Milch"}, []string{"250 ml", "300 ml", "3 × 250 ml"}},
		{"Vollwaschmittel", 295, 2_495, []string{"Pulver", "Flüssig", "Caps"}, []string{"20 WL", "65 WL", "100 WL"}},
		{"Zahncreme", 85, 495, []string{"Kräuter", "Weiß", "Kinder 0–6"}, []string{"75 ml", "2 × 75 ml", "100 ml"}},
		{"Tagescreme", 395, 3_995, []string{"LSF 30", "für trockene Haut", "Q10"}, []string{"50 ml", "75 ml", "Spar-Set"}},
	}
	foodBrands = []brand{
		spelled("Möhrenglück", "Möhrenglück eG (simulated)"), spelled("Käptn Kümmel", "Kümmel Feinkost GmbH (simulated)"),
		spelled("Hofgut Höfele", "Hofgut Höfele (simulated)"),
	}
	foodKinds = []kind{
		{"Haferflocken", 79, 399, []string{"kernig", "zart", "Bio"}, []string{"500 g", "1 kg", "5 × 500 g"}},
		{"Röstkaffee", 499, 1_899, []string{"Crema", "entkoffeiniert", "Bohnen"}, []string{"500 g", "1 kg", "250 g"}},
		{"Apfelsaft", 119, 799, []string{"naturtrüb", "klar", "100 % Direktsaft"}, []string{"1 l", "6 × 1 l", "0,2 l"}},
		{"Bergkäse", 249, 1_299, []string{"12 Monate", "mild", "g. U."}, []string{"200 g", "Stück ca. 300 g", "gerieben"}},
	}
	pharmaBrands = []brand{
		spelled("Demosan", "Demosan Arzneimittel GmbH (simulated)"), spelled("Hustinorm", "Nordmed Pharma GmbH (simulated)"),
		spelled("Vitalöwe", "Vitalöwe GmbH & Co. KG (simulated)"), spelled("Gelenkwohl", "Gelenkwohl AG (simulated)"),
		spelled("Kneippsüd", "Kneippsüd Naturheil (simulated)"),
	}
	pharmaKinds = []kind{
		{"Schmerztabletten", 199, 1_299, []string{"400 mg", "akut 200 mg", "forte"}, []string{"20 St", "50 St", "10 St"}},
		{"Nasenspray", 249, 1_199, []string{"0,1 %", "für Säuglinge", "mit Dexpanthenol"}, []string{"10 ml", "15 ml", "2 × 10 ml"}},
		{"Vitamin D3", 499, 3_999, []string{"1.000 I.E.", "2.000 I.E.", "20.000 I.E. Depot"}, []string{"60 St", "180 St", "Tropfen 10 ml"}},
		{"Wärmesalbe", 599, 2_499, []string{"Eukalyptus", "Capsaicin", "für Gelenke"}, []string{"100 g", "50 g", "3 × 100 g"}},
		{"Hustensaft", 449, 1_599, []string{"Efeu", "Thymian", "zuckerfrei"}, []string{"100 ml", "200 ml", "250 ml"}},
	}
)

// Names of the categories, including those that customers use.
const (
	catElectronics = "electronics"
	catToys        = "toys"
	catDrugstore   = "drugstore"
	catGroceries   = "groceries"
	catPharmacy    = "pharmacy"
	catFrance      = "france" // items of the French country market
	catJapan       = "japan"
)

var categories = []category{
	{
		name: catElectronics, count: 420, brands: electronicsBrands, kinds: electronicsKinds,
		coverage: []coverage{{elektro, 100}, {marktDE, 60}, {marktAlle, 25}, {preisvergleich, 70}, {souk, 35}},
	},
	{
		name: catToys, count: 260, brands: toyBrands, kinds: toyKinds,
		coverage: []coverage{{spielzeug, 100}, {marktDE, 55}, {marktAlle, 25}, {preisvergleich, 55}, {souk, 15}},
	},
	{
		name: catDrugstore, count: 220, brands: drugBrands, kinds: drugKinds,
		coverage: []coverage{{drogerie, 100}, {frischmarkt, 25}, {apoSued, 15}, {preisvergleich, 20}},
	},
	{
		name: catGroceries, count: 160, brands: foodBrands, kinds: foodKinds,
		coverage: []coverage{{frischmarkt, 100}, {drogerie, 15}},
	},
	{
		name: catPharmacy, count: 260, brands: pharmaBrands, kinds: pharmaKinds, pzn: true,
		coverage: []coverage{{apoNord, 95}, {apoSued, 90}, {apoInsel, 75}, {preisvergleich, 20}},
	},
	{name: catFrance, count: 110, of: catElectronics, locale: "fr", coverage: []coverage{{marktFR, 100}, {comparateur, 90}, {marktAlle, 20}}},
	{name: catJapan, count: 70, of: catToys, locale: "co.jp", coverage: []coverage{{marktJP, 100}, {marktAlle, 15}}},
}

// item is a product with what the market knows beyond its record.
type item struct {
	contracts.Item
	category  string
	place     int // in its category
	hash      uint64
	base      int64 // EUR cents
	spellings []string
}

func (m *Market) makeItems() {
	byCategory := map[string][]int{}
	for c := range categories {
		cat := &categories[c]
		for n := range m.scaled(cat.count, 6) {
			byCategory[cat.name] = append(byCategory[cat.name], len(m.items))
			if cat.of == "" {
				m.items = append(m.items, m.newItem(cat, c, n))
				continue
			}
			of := byCategory[cat.of]
			m.items = append(m.items, m.sibling(cat, c, n, m.items[of[n%len(of)]]))
		}
	}
	m.byID = make(map[contracts.ItemID]*item, len(m.items))
	for i := range m.items {
		m.byID[m.items[i].ItemID] = &m.items[i]
	}
}

func (m *Market) itemID(cat string, n int) contracts.ItemID {
	return contracts.DeriveID[contracts.ItemID](m.seedText(), "item", cat, strconv.Itoa(n))
}

func (m *Market) newItem(cat *category, c, n int) item {
	h := m.draw(drawItem, uint64(c), uint64(n))
	pick := func(shift, n int) int { return int((h >> shift) % uint64(n)) }
	b := cat.brands[pick(0, len(cat.brands))]
	k := cat.kinds[pick(6, len(cat.kinds))]
	it := item{category: cat.name, place: n, hash: h, spellings: b.spellings}
	it.ItemID = m.itemID(cat.name, n)
	it.Brand, it.Manufacturer = b.name, b.maker

	name := fmt.Sprintf("%s %s %s", b.name, k.name, k.marks[pick(12, len(k.marks))])
	if cat.pzn || cat.name == catGroceries || cat.name == catDrugstore {
		name += ", " + k.variants[pick(18, len(k.variants))]
	} else {
		name += fmt.Sprintf(" %s, %s (Modell %c%03d)", k.variants[pick(18, len(k.variants))], colours[pick(24, len(colours))], 'A'+rune(pick(30, 26)), 100+pick(36, 900))
	}
	switch n {
	case 1: // what a store may mistake for an escape must come back unchanged
		name = k.name + ` 5\N "Größe 10'" \t (Sonderposten) ` + b.name
	case 2:
		name += " – " + strings.TrimSuffix(strings.Repeat("inklusive "+strings.Join(k.variants, ", ")+", umfangreichem Zubehörpaket für Küche, Büro & Balkon; ", 4), "; ")
	}
	it.Name = name

	// The price is more often low in its range than high.
	share := min((h>>20)%1000, (h>>40)%1000)
	it.base = k.low + (k.top-k.low)*int64(share)/1000

	number := uint64(c)<<24 + uint64(n)
	switch {
	case n == 3 || n > 5 && chance(h<<5, 400): // known only by its name
	case cat.pzn:
		it.PZN = pzn(number)
		if chance(h<<9, 5_000) {
			it.EAN = ean(number)
		}
	default:
		it.EAN = ean(number)
		if cat.name == catElectronics || cat.name == catToys {
			it.ASIN, it.ASINLocale = asin(c, n), "de"
		}
	}
	switch {
	case n == 4:
		it.Brand = ""
	case n == 5:
		it.Manufacturer = ""
	}
	return it
}

// sibling returns the record of an item of another category at a country market
// of its own: the same article, with that market's number.
func (m *Market) sibling(cat *category, c, n int, of item) item {
	it := of
	it.category, it.place, it.ItemID = cat.name, n, m.itemID(cat.name, n)
	it.hash = mix(of.hash ^ textKey(cat.name))
	it.ASIN, it.ASINLocale = asin(c, n), cat.locale
	return it
}

// ean returns an EAN-13 in the range 29, which GS1 leaves to the in-house use
// of retailers: no product on sale has it.
func ean(number uint64) string {
	return checked(fmt.Sprintf("29%010d", number%10_000_000_000), contracts.ValidEAN) // one of ten always fits
}

// checked appends the check digit; empty: none fits.
func checked(digits string, valid func(string) bool) string {
	for d := range 10 {
		if s := digits + strconv.Itoa(d); valid(s) {
			return s
		}
	}
	return ""
}

// pzn returns a PZN8 in the range 9, which has not been issued so far. Numbers
// whose check digit would be 10 are skipped, as IFA does.
func pzn(number uint64) string {
	for at := number * 2; ; at++ { // of two adjacent numbers at least one is valid
		if p := checked(fmt.Sprintf("9%06d", at%1_000_000), contracts.ValidPZN); p != "" {
			return p
		}
	}
}

// asin returns a number in the form of an ASIN that shows that it is invented.
func asin(category, place int) string {
	number := uint64(category)<<22 + uint64(place)
	const letters = "0123456789ABCDEFGHJKLMNPQRSTUVWX"
	b := []byte("ZDEMO00000")
	for i := len(b) - 1; i >= 5; i-- {
		b[i] = letters[number%32]
		number /= 32
	}
	return string(b)
}

// pair is an item at a site, with what all of its captures have in common.
type pair struct {
	item  *item
	site  *site
	hash  uint64
	base  int64 // usual price in the site's minor unit
	title string
	url   string
	maker string // as this site spells it
	rival *pair  // whose price this site may match
	hot   bool   // captured more often than the rest of its site
	away  bool   // the site does not carry the item

	// Its group of pairs is captured every so many ms; each time, the next pair
	// of the group has trouble.
	every, place, group int64
}

func (p *pair) key() contracts.Pair {
	return contracts.Pair{Item: p.item.ItemID, Site: p.site.Site.Site}
}

func (m *Market) makePairs() {
	m.byPair = map[contracts.Pair]*pair{}
	hots := m.scaled(40, 3)
	for i := range m.items {
		it := &m.items[i]
		cat := slices.IndexFunc(categories, func(c category) bool { return c.name == it.category })
		var lead *pair
		for _, cov := range categories[cat].coverage {
			s := &m.sites[cov.site]
			hot := cov.site == marktDE && it.category == catElectronics && it.place < hots
			h := m.draw(drawAssortment, it.hash, s.key)
			if it.place > 0 && !hot && !chance(h, uint64(cov.share)*100) {
				continue
			}
			p := m.newPair(it, s)
			p.hot = hot
			if lead == nil {
				lead = p
			} else if s.CurrencyCode == lead.site.CurrencyCode && s.maxOffers == 1 {
				p.rival, lead.rival = lead, p
			}
			m.pairs = append(m.pairs, p)
			m.byPair[p.key()] = p
		}
	}
}

func (m *Market) newPair(it *item, s *site) *pair {
	p := &pair{item: it, site: s, hash: m.draw(drawPair, it.hash, s.key)}
	level := s.level + int64(p.hash%1_201) - 600
	p.base = max(1, convert(it.base, s.CurrencyCode)*level/10_000)
	p.title = it.Name + s.titleTail
	p.url = "https://www." + string(s.Site.Site) + "/p/" + it.ItemID.String() + "?ref=demo&q=1"
	p.maker = it.Manufacturer
	if p.maker != "" {
		p.maker = it.spellings[(p.hash>>20)%uint64(len(it.spellings))]
	}
	return p
}

// convert turns EUR cents into the minor unit of a currency of the market.
func convert(cents int64, c contracts.Currency) int64 {
	switch c {
	case "JPY":
		return max(1, cents*162/100)
	case "KWD":
		return cents * 10 * 36 / 100
	}
	return cents
}

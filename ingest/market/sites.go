package market

import (
	"time"

	"preismon/contracts"
)

// Places of the sites in Market.sites.
const (
	elektro = iota
	spielzeug
	drogerie
	frischmarkt
	marktDE
	marktFR
	marktJP
	marktAlle
	preisvergleich
	apoNord
	apoSued
	apoInsel
	comparateur
	souk
)

// site is a place that is captured, with what determines its prices.
type site struct {
	contracts.Site
	key       uint64
	merchant  string // the seller in a shop; empty: the shop does not name it
	maxOffers int    // 1: a shop
	sorted    bool   // offers are ordered by price, as comparisons show them
	flags     bool   // the source shows prime and buy box
	rated     bool   // the source shows a rating
	level     int64  // its prices relative to the item's base price, in 1/10,000
	weekend   int64  // the weekend discount there, in 1/10,000
	titleTail string
	delivery  [4]string // the last one: not available
	shipping  [3]int64  // minor units; -1: not shown
}

const operator = "Demo Markt (simulated)"

func sites() []site {
	de := [4]string{"sofort lieferbar", "Lieferung in 1–3 Werktagen", "Lieferung morgen, wenn Sie heute bestellen", "derzeit nicht verfügbar"}
	apo := [4]string{"auf Lager, Lieferung in 1–2 Werktagen", "sofort lieferbar", "Abholung heute ab 16 Uhr", "nicht lieferbar beim Großhandel"}
	fr := [4]string{"Expédié sous 24 h", "Livraison en 2–4 jours ouvrés", "En stock", "Actuellement indisponible"}
	facts := func(kind contracts.SiteType, country string, currency contracts.Currency, key contracts.SiteKey, name string) contracts.Site {
		return contracts.Site{Site: key, Name: name, SiteType: kind, CountryCode: country, CurrencyCode: currency}
	}
	all := []site{
		elektro: {
			Site:     facts(contracts.Shop, "DE", "EUR", "demo-elektro-nord.example", "Demo Elektro Nord (simulated)"),
			merchant: "Demo Elektro Nord", maxOffers: 1, rated: true, level: 10_000, weekend: 300,
			titleTail: " | Demo Elektro Nord (simulated)", delivery: de, shipping: [3]int64{0, 499, 599},
		},
		spielzeug: {
			Site:     facts(contracts.Shop, "DE", "EUR", "demo-spielzeugkiste.example", "Demo Spielzeugkiste (simulated)"),
			merchant: "Demo Spielzeugkiste", maxOffers: 1, level: 10_200, weekend: 500,
			titleTail: " – simulated", delivery: de, shipping: [3]int64{395, 0, 395},
		},
		drogerie: {
			Site:      facts(contracts.Shop, "DE", "EUR", "demo-drogerie-linde.example", "Demo Drogerie Linde (simulated)"),
			maxOffers: 1, level: 9_800, titleTail: " (simulated)", delivery: de, shipping: [3]int64{495, 495, 0},
		},
		frischmarkt: {
			Site:      facts(contracts.Shop, "DE", "EUR", "demo-frischmarkt.example", "Demo Frischmarkt (simulated)"),
			maxOffers: 1, level: 10_000, weekend: 800, titleTail: " (simulated)", delivery: de, shipping: [3]int64{-1, -1, -1},
		},
		marktDE: {
			Site:      facts(contracts.Marketplace, "DE", "EUR", "demo-markt-de.example", "Demo Markt Deutschland (simulated)"),
			maxOffers: 8, flags: true, rated: true, level: 9_700, titleTail: " (simulated)", delivery: de, shipping: [3]int64{0, 0, 399},
		},
		marktFR: {
			Site:      facts(contracts.Marketplace, "FR", "EUR", "demo-markt-fr.example", "Demo Markt France (simulated)"),
			maxOffers: 7, flags: true, level: 10_400, titleTail: " (simulated)", delivery: fr, shipping: [3]int64{0, 299, 490},
		},
		marktJP: {
			Site:      facts(contracts.Marketplace, "JP", "JPY", "demo-markt-jp.example", "Demo Markt Japan (simulated)"),
			maxOffers: 5, flags: true, level: 10_800, titleTail: "（simulated）",
			delivery: [4]string{"通常1〜2日以内に発送", "明日中にお届け", "在庫あり", "現在在庫切れです"}, shipping: [3]int64{0, 350, 0},
		},
		marktAlle: {
			Site:      facts(contracts.Marketplace, "DE", "EUR", "demo-markt-alle.example", "Demo Markt, alle Märkte (simulated list)"),
			maxOffers: 3, flags: true, rated: true, level: 9_900, titleTail: " (simulated)", delivery: de, shipping: [3]int64{-1, 0, -1},
		},
		preisvergleich: {
			Site:      facts(contracts.Platform, "DE", "EUR", "demo-preisvergleich.example", "Demo Preisvergleich (simulated)"),
			maxOffers: 9, sorted: true, rated: true, level: 9_500, titleTail: " im Vergleich (simulated)", delivery: de, shipping: [3]int64{0, 495, -1},
		},
		apoNord: {
			Site:     facts(contracts.Shop, "DE", "EUR", "demo-apotheke-nord.example", "Demo Apotheke Nord (simulated)"),
			merchant: "Demo Apotheke Nord", maxOffers: 1, level: 9_000, titleTail: " (simulated)", delivery: apo, shipping: [3]int64{395, 0, 395},
		},
		apoSued: {
			Site:     facts(contracts.Shop, "DE", "EUR", "demo-apotheke-sued.example", "Demo Apotheke Süd (simulated)"),
			merchant: "Demo Apotheke Süd e. K.", maxOffers: 1, level: 8_700, titleTail: " (simulated)", delivery: apo, shipping: [3]int64{349, 349, 0},
		},
		apoInsel: {
			Site:     facts(contracts.Shop, "DE", "EUR", "demo-versandapotheke-insel.example", "Demo Versandapotheke Insel (simulated)"),
			merchant: "Demo Versandapotheke Insel", maxOffers: 1, level: 8_300, weekend: 200, titleTail: " (simulated)", delivery: apo, shipping: [3]int64{590, 0, 590},
		},
		comparateur: {
			Site:      facts(contracts.Platform, "FR", "EUR", "demo-comparateur.example", "Démo Comparateur (simulated)"),
			maxOffers: 6, sorted: true, rated: true, level: 10_200, titleTail: " (simulated)", delivery: fr, shipping: [3]int64{0, 399, -1},
		},
		souk: {
			Site:     facts(contracts.Shop, "KW", "KWD", "demo-souk-kuwait.example", "Demo Souk Kuwait (simulated)"),
			merchant: "سوق ديمو (Demo Souk)", maxOffers: 1, level: 11_000, titleTail: " (simulated)",
			delivery: [4]string{"Delivered tomorrow", "توصيل خلال يومين", "Pick-up today", "Out of stock"}, shipping: [3]int64{1_500, 0, 750},
		},
	}
	for i := range all {
		s := &all[i]
		s.key = textKey(string(s.Site.Site))
		s.PriceComparisonMarket = i == preisvergleich
		if s.SiteType == contracts.Marketplace {
			s.Operator, s.CanonicalCountryMarket = operator, i != marktAlle
		}
	}
	return all
}

// merchants sell on marketplaces and are listed by price comparisons. The first
// one is the operator's own shop.
var merchants = []string{
	"Demo Markt (simulated)",
	"Demo-Händler Ahlers", "Demo-Händler Böttcher & Söhne", "Demo-Kontor Cuxhaven", "Demo-Technik Dörte Müller e. K.",
	"Demo-Versand Eiche", "Demo-Outlet Föhr", "Demo-Handel \"Grüne Neun\"", "Demo-Lager Hötorget AB", "Demo-Discount Isar",
	"Demo-Handel Jäger KG", "Demo-Kiste Köln", "Demo-Kaufhaus Lüneburg", "Demo-Medien Main", "Demo-Express Neiße",
	"Demo-Händler Ostsee-Import", "Demo-Shop Pfälzer Wald", "Demo-Quelle 24", "Demo-Restposten Rhön", "Demo-Händler Straßburg SARL",
	"Demo-Boutique Trier", "Demo-Übersee GmbH", "Demo-Vertrieb Vogt", "Demo-Werkstatt Weser", "Demo-Xpress24",
	"Demo-Import Ypern", "Demo-Zubehör Zwickau", "Démo Boutique de l'Étoile", "Démo Marché d'Aix", "Démo Comptoir Lyonnais",
	"デモ商店（東京）", "デモ電器", "Demo Trading O'Neill Ltd.", "Demo-Händler Ærø ApS", "Demo-Ersatzteile A\\B",
	"Demo-Händler mit einem sehr langen Namen, wie ihn sich nur eine Gesellschaft mit beschränkter Haftung & Co. Kommanditgesellschaft auf Aktien gibt",
	"Demo-Sonderposten Süd", "Demo-Neuware Nürnberg", "Demo-Fundgrube Fürth", "Demo-Profi Prüm",
}

// rhythm is how often a group of pairs of one site is captured. A run captures
// all pairs of the group, either all at one instant or one after the other.
type rhythm struct {
	site     int
	name     string
	hot      bool // of the pairs that sell fast
	key      uint64
	interval int64 // ms, like all times here
	offset   int64
	jitter   int64
	quiet    [2]int // hours of the day, UTC, in which no run starts; equal: none
	spread   bool   // one after the other, over most of the interval
	chunk    int    // observations in an event
	pairs    []*pair
	window   int    // how many pairs a run captures, moving on by one pair each time; 0: all
	makeup   uint64 // derived from its pairs, for event ids
}

func (m *Market) makeRhythms() {
	const minute, hour = msHour / 60, msHour
	m.rhythms = []rhythm{
		{site: marktDE, name: "hot", hot: true, interval: 15 * minute, offset: 2 * minute, jitter: 40_000, chunk: 60},
		{site: elektro, name: "all", interval: 90 * minute, offset: 7 * minute, jitter: 3 * minute, spread: true, chunk: 12},
		{site: spielzeug, name: "all", interval: 3 * hour, offset: 15 * minute, jitter: 10 * minute, quiet: [2]int{22, 5}, chunk: 500},
		{site: drogerie, name: "all", interval: 6 * hour, offset: 30 * minute, jitter: 15 * minute, chunk: 100},
		{site: frischmarkt, name: "all", interval: 24 * hour, offset: 4*hour + 30*minute, jitter: 20 * minute, spread: true, chunk: 20},
		{site: marktDE, name: "all", interval: 4 * hour, offset: 11 * minute, jitter: 5 * minute, spread: true, chunk: 8},
		{site: marktFR, name: "all", interval: 4 * hour, offset: 41 * minute, jitter: 5 * minute, spread: true, chunk: 6},
		{site: marktJP, name: "all", interval: 6 * hour, offset: 2 * hour, jitter: 5 * minute, chunk: 40},
		{site: marktAlle, name: "all", interval: 8 * hour, offset: 50 * minute, jitter: 30 * minute, chunk: 100},
		{site: preisvergleich, name: "all", interval: 4 * hour, offset: 3 * minute, jitter: 2 * minute, spread: true, chunk: 8},
		{site: apoNord, name: "all", interval: hour, offset: 20 * minute, jitter: 90_000, chunk: 100},
		{site: apoSued, name: "all", interval: 2 * hour, offset: 35 * minute, jitter: 5 * minute, quiet: [2]int{0, 5}, spread: true, chunk: 20},
		{site: apoInsel, name: "all", interval: 3 * hour, offset: 55 * minute, jitter: 8 * minute, spread: true, chunk: 20},
		{site: comparateur, name: "all", interval: 6 * hour, offset: 25 * minute, jitter: 10 * minute, spread: true, chunk: 10},
		{site: souk, name: "all", interval: 6 * hour, offset: 90 * minute, jitter: 12 * minute, quiet: [2]int{20, 1}, spread: true, chunk: 25},
	}
	for i := range m.rhythms {
		r := &m.rhythms[i]
		for _, p := range m.pairs {
			if p.site == &m.sites[r.site] && p.hot == r.hot {
				r.pairs = append(r.pairs, p)
			}
		}
		m.finish(r)
		for place, p := range r.pairs {
			p.every, p.place, p.group = r.interval, int64(place), int64(len(r.pairs))
		}
	}
}

// finish sets what is derived from a rhythm's pairs.
func (m *Market) finish(r *rhythm) {
	r.key = m.sites[r.site].key ^ textKey(r.name)
	for _, p := range r.pairs {
		r.makeup = mix(r.makeup ^ p.hash)
	}
}

// rests reports whether no run starts in this hour of the day.
func (r *rhythm) rests(hour int) bool {
	from, to := r.quiet[0], r.quiet[1]
	if from <= to {
		return hour >= from && hour < to
	}
	return hour >= from || hour < to
}

// runsPerDay counts the runs of a day and those due up to an instant of it.
func (r *rhythm) runsPerDay(until time.Duration) (day, due int) {
	for at := r.offset % r.interval; at < msDay; at += r.interval {
		if r.rests(int(at / msHour)) {
			continue
		}
		day++
		if at+r.jitter+r.length() <= until.Milliseconds() {
			due++
		}
	}
	return day, due
}

// length returns how long a run lasts.
func (r *rhythm) length() int64 {
	if !r.spread {
		return 0
	}
	return r.interval / 10 * 8
}

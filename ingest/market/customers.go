package market

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"preismon/contracts"
)

// mandate is a customer with everything that belongs to it.
type mandate struct {
	contracts.Mandate
	orders     []*order
	references bool
	categories bool
}

// order is a monitoring order, independent of a time.
type order struct {
	contracts.Order
	conflicting bool // its source's counters contradict each other
	novelties   bool // it watches the newest of its items
}

type account struct {
	contracts.Account
	password string
	mandate  string // its name
	sees     string
}

// DemoAccount is a login of the demo and what it is for. Its password is
// derived from the seed: anyone who knows the seed knows the password.
type DemoAccount struct {
	LoginIdentifier string `json:"loginIdentifier"`
	Password        string `json:"password"`
	Mandate         string `json:"mandate"`
	Sees            string `json:"sees"`
}

// Accounts returns the logins of the demo, those of the named mandates first.
func (m *Market) Accounts() []DemoAccount {
	var all []DemoAccount
	for _, a := range m.accounts {
		all = append(all, DemoAccount{a.LoginIdentifier, a.password, a.mandate, a.sees})
	}
	return all
}

// choose returns the ids of those items of the categories that the filter
// accepts.
func (m *Market) choose(take func(it *item) bool, categories ...string) []contracts.ItemID {
	var ids []contracts.ItemID
	for _, c := range categories {
		for i := range m.items {
			if it := &m.items[i]; it.category == c && take(it) {
				ids = append(ids, it.ItemID)
			}
		}
	}
	return ids
}

func (m *Market) siteKeys(indexes ...int) []contracts.SiteKey {
	keys := make([]contracts.SiteKey, len(indexes))
	for i, p := range indexes {
		keys[i] = m.sites[p].Site.Site
	}
	return keys
}

// The named mandates; additional ones, at a larger scale, are numbered.
const (
	maker    = "demo-hersteller-nord"
	pharmacy = "demo-apothekenverbund"
	toyTrade = "demo-spielwaren-sued"
	small    = "demo-laden-klein"
)

func (m *Market) newMandate(key, name, pack string, maxItems int) *mandate {
	c := &mandate{}
	c.MandateID = contracts.DeriveID[contracts.MandateID](m.seedText(), "mandate", key)
	c.Name = name
	c.Package = contracts.Package{Name: pack, MaxItems: maxItems}
	m.mandates = append(m.mandates, c)
	return c
}

// maxOrderItems keeps an order, at 22 bytes per item, within the maximum size
// of an event.
const maxOrderItems = 40_000

func (m *Market) newOrder(c *mandate, alias, name string, every int, items []contracts.ItemID, sites []contracts.SiteKey) *order {
	o := &order{}
	o.OrderID = contracts.DeriveID[contracts.OrderID](m.seedText(), "order", c.MandateID.String(), alias)
	o.MandateID, o.Alias, o.Name, o.Active = c.MandateID, alias, name, true
	o.CreatedAt = founded.Add(time.Duration(len(c.orders)) * 24 * time.Hour)
	o.Items, o.Sites = items[:min(len(items), maxOrderItems)], sites
	if every > 0 {
		o.Schedule = &contracts.Schedule{IntervalMinutes: every}
	}
	c.orders, m.orders = append(c.orders, o), append(m.orders, o)
	return o
}

// newLegacyOrder creates an order that was imported from an older system, which
// knows nothing about its fifth item and nothing meaningful about its tenth.
func (m *Market) newLegacyOrder(c *mandate, alias, name string, every int, items []contracts.ItemID, sites []contracts.SiteKey) {
	o := m.newOrder(c, alias, name, every, items, sites)
	o.Legacy = true
	keys := make([]string, len(sites))
	for i, key := range sites {
		keys[i] = string(key)
	}
	for i, id := range o.Items {
		switch i {
		case 4:
		case 9:
			o.Memberships = append(o.Memberships, contracts.Membership{ItemID: id, Sites: "Array(" + keys[0] + ")"})
		default:
			o.Memberships = append(o.Memberships, contracts.Membership{ItemID: id, Sites: strings.Join(keys, ",")})
		}
	}
}

func (m *Market) newAccount(c *mandate, login, sees string, scope contracts.AccountScope) *account {
	var a account
	a.AccountID = contracts.DeriveID[contracts.AccountID](m.seedText(), "account", login)
	a.MandateID, a.LoginIdentifier, a.Permissions, a.Scope = c.MandateID, login, contracts.Permissions(), scope
	a.password, a.mandate, a.sees = m.password(login), c.Name, sees
	m.accounts = append(m.accounts, a)
	return &m.accounts[len(m.accounts)-1]
}

func (m *Market) makeMandates() {
	all := func(*item) bool { return true }
	first := func(n int) func(*item) bool {
		n = m.scaled(n, 3)
		return func(it *item) bool { return it.place < n }
	}
	whole := contracts.AccountScope{AllOrders: true, AllSites: true}

	nord := m.newMandate(maker, "Demo Hersteller Nord (simulated)", "Premium (simulated)", m.scaled(2_000, 2_000))
	m.newOrder(nord, "elektronik-kern", "Elektronik Kernsortiment", 120, m.choose(all, catElectronics), m.siteKeys(elektro, marktDE, preisvergleich, souk))
	buybox := m.newOrder(nord, "buybox", "Buy-Box-Wache in drei Ländern", 15,
		append(m.choose(first(40), catElectronics), m.choose(all, catFrance, catJapan)...), m.siteKeys(marktDE, marktFR, marktJP, marktAlle)).OrderID
	ended := m.newOrder(nord, "weihnachten-2023", "Weihnachtsgeschäft 2023 (beendet)", 1_440, m.choose(first(60), catToys), m.siteKeys(spielzeug))
	ended.Active = false
	m.newOrder(nord, "fruehjahr", "Frühjahrsgeschäft (noch ohne Plan)", 0, m.choose(first(5), catElectronics), m.siteKeys(comparateur))
	nord.references, nord.categories = true, true
	m.newAccount(nord, "anna@"+maker+".example", "everything of Demo Hersteller Nord: two orders at seven sites and one that is not planned yet, prices in EUR, JPY and KWD", whole)
	m.newAccount(nord, "bert@"+maker+".example", "one order: Buy-Box-Wache (three country markets and the list of all markets)",
		contracts.AccountScope{Orders: []contracts.OrderID{buybox}, AllSites: true})
	m.newAccount(nord, "clara@"+maker+".example", "all orders, but two sites: Demo Markt Deutschland and Demo Preisvergleich; the lists of export and import files but not their content, which may hold the other sites, too",
		contracts.AccountScope{AllOrders: true, Sites: m.siteKeys(marktDE, preisvergleich)})
	m.newAccount(nord, "admin@"+maker+".example", "nothing: an administrative account, refused at login", whole).Administrative = true

	apo := m.newMandate(pharmacy, "Demo Apothekenverbund (simulated)", "Standard (simulated)", m.scaled(1_000, 1_000))
	m.newOrder(apo, "otc", "OTC-Sortiment stündlich", 60, m.choose(all, catPharmacy), m.siteKeys(apoNord, apoSued, apoInsel))
	m.newOrder(apo, "freiwahl", "Freiwahl und Drogerie", 360, m.choose(first(150), catDrugstore), m.siteKeys(drogerie, apoSued, frischmarkt)).conflicting = true
	apo.references, apo.categories = true, true
	m.newAccount(apo, "dora@"+pharmacy+".example", "everything of Demo Apothekenverbund: PZN articles at three pharmacies, and drugstore articles", whole)
	m.newAccount(apo, "emil@"+pharmacy+".example", "everything of Demo Apothekenverbund but export and import files (no permission)", whole).
		Permissions = []contracts.Permission{contracts.ReadSites, contracts.ReadItems, contracts.ReadOrders, contracts.ReadResults}

	sued := m.newMandate(toyTrade, "Demo Spielwaren Süd (simulated)", "Standard (simulated)", m.scaled(1_000, 1_000))
	m.newOrder(sued, "spielwaren", "Spielwaren gesamt", 180, m.choose(all, catToys), m.siteKeys(spielzeug, marktDE, marktAlle, preisvergleich))
	m.newLegacyOrder(sued, "randsortiment", "Randsortiment Elektronik und Lebensmittel", 240,
		append(m.choose(first(80), catElectronics), m.choose(all, catGroceries)...), m.siteKeys(elektro, preisvergleich, frischmarkt, drogerie))
	m.newOrder(sued, "neuheiten", "Spielwaren-Neuheiten im Fachhandel", 15, m.choose(all, catToys), m.siteKeys(noveltySites[:]...)).novelties = true
	sued.references, sued.categories = true, true
	m.newAccount(sued, "frida@"+toyTrade+".example", fmt.Sprintf("everything of Demo Spielwaren Süd: toys and their novelties, groceries, and %d electronics items that Demo Hersteller Nord watches, too", m.scaled(80, 3)), whole)
	m.newAccount(sued, "gustav@"+toyTrade+".example", "nothing: its scope is empty", contracts.AccountScope{})

	klein := m.newMandate(small, "Demo Laden Klein (simulated)", "Mini (simulated)", 10)
	m.newOrder(klein, "probe", "Probeauftrag mit mehr Artikeln als gebucht", 240, m.choose(first(25), catElectronics), m.siteKeys(elektro, marktDE))
	m.newAccount(klein, "hanna@"+small+".example", "a small package: the first 10 items of its only order, the lists of its files but not their content, which holds the other items, too; neither reference prices nor customer data", whole)

	for len(m.mandates) < m.scaled(4, 4) {
		m.newNumbered(len(m.mandates) + 1)
	}
	m.makeJobs()
}

// newNumbered creates one of the mandates of a larger scale: an order over a slice
// of the assortment, from a few items to hundreds.
func (m *Market) newNumbered(n int) {
	h := m.draw(drawCustomer, uint64(n), 0)
	key := fmt.Sprintf("demo-kunde-%03d", n)
	c := m.newMandate(key, fmt.Sprintf("Demo Kunde %d (simulated)", n), "Standard (simulated)", 1_000)
	cat := &categories[h%5]
	size := uint64(10) << (h >> 8 % 6)
	from := int(h >> 16 % uint64(max(1, m.scaled(cat.count, 6)-int(size))))
	var sites []contracts.SiteKey
	for _, cov := range cat.coverage {
		sites = append(sites, m.sites[cov.site].Site.Site)
	}
	m.newOrder(c, "auftrag", "Auftrag von "+c.Name, 240, m.choose(func(it *item) bool {
		return it.place >= from && it.place < from+int(size)
	}, cat.name), sites)
	m.newAccount(c, "leser@"+key+".example", "everything of "+c.Name, contracts.AccountScope{AllOrders: true, AllSites: true})
}

// password returns a password that can be spoken and typed: six syllables and
// two digits, about 43 bits of the seed.
func (m *Market) password(login string) string {
	const consonants, vowels = "bdfgklmnprstvw", "aeiou"
	sum := sha256.Sum256([]byte(m.seedText() + "\npassword\n" + login))
	h := binary.BigEndian.Uint64(sum[:])
	var b strings.Builder
	for i := range 6 {
		if i > 0 && i%2 == 0 {
			b.WriteByte('-')
		}
		b.WriteByte(consonants[h%uint64(len(consonants))])
		h /= uint64(len(consonants))
		b.WriteByte(vowels[h%uint64(len(vowels))])
		h /= uint64(len(vowels))
	}
	fmt.Fprintf(&b, "-%02d", h%100)
	return b.String()
}

// hashPasswords hashes the password of each login as OWASP recommends for
// argon2id: 19 MiB, two passes, one lane. The salt is derived from the seed too,
// because otherwise the accounts would differ from one start to the next.
func (m *Market) hashPasswords() map[string]string {
	const memory, passes, lanes, length = 19 * 1024, 2, 1, 32
	b64 := base64.RawStdEncoding
	all := map[string]string{}
	for _, a := range m.accounts {
		sum := sha256.Sum256([]byte(m.seedText() + "\nsalt\n" + a.LoginIdentifier))
		salt := sum[:16]
		hash := argon2.IDKey([]byte(a.password), salt, passes, memory, lanes, length)
		all[a.LoginIdentifier] = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes,
			b64.EncodeToString(salt), b64.EncodeToString(hash))
	}
	return all
}

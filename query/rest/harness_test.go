package rest_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/contracts/openapi/check"
	"preismon/query"
	"preismon/query/auth"
	"preismon/query/rest"
)

const (
	baseURL  = "https://prices.example.test"
	password = "correct horse battery staple"

	reader   contracts.AccountID = 1 // may read everything
	narrow   contracts.AccountID = 2 // may read sites only
	admin    contracts.AccountID = 3
	disabled contracts.AccountID = 4
)

// surface is a REST surface on loopback over a store in memory.
type surface struct {
	*httptest.Server
	t       testing.TB
	rest    *rest.Surface // without what the test puts around it
	store   *memory
	service *query.Service
	auth    *auth.Authority
	keys    *auth.Keyring
	key     ed25519.PrivateKey
	revoked *revocations
	clock   *clock
	log     *logBuffer
	client  *http.Client
}

type settings struct {
	rest        rest.Config
	query       query.Config
	throttle    auth.ThrottleConfig
	counters    *auth.Throttle // nil: made from throttle
	auth        auth.Config
	revocations auth.Revocations
	key         ed25519.PrivateKey
	http2       bool
	store       query.Store   // in place of the one in memory
	people      auth.Accounts // in place of those of the tests
	archives    []query.Archive
	mounted     []rest.Mounted
	tracer      trace.Tracer
	serving     func() func(rest.Served)
	// smallBuffers: a client that takes nothing holds up its answer at once.
	smallBuffers bool
	unchecked    bool // answers that are too large to be kept for a check
}

func serve(t testing.TB, change ...func(*settings)) *surface {
	t.Helper()
	s := &surface{t: t, store: newMemory(), revoked: &revocations{ids: map[string]bool{}}, clock: &clock{}, log: &logBuffer{}}
	set := settings{rest: rest.Defaults(), query: query.Defaults(), throttle: auth.ThrottleDefaults(), auth: auth.Defaults(), revocations: s.revoked}
	set.rest.BaseURL, set.rest.Build = baseURL, "v0.0.0-test"
	set.query.CursorKey = contracts.Secret(strings.Repeat("k", 32))
	set.auth.Issuer = baseURL
	set.auth.Hash = argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	for _, f := range change {
		f(&set)
	}
	if s.key = set.key; s.key == nil {
		_, s.key, _ = ed25519.GenerateKey(nil)
	}
	keys, err := auth.NewKeyring(s.key)
	must(t, err)
	s.keys = keys
	throttle := set.counters
	if throttle == nil {
		throttle, err = auth.NewThrottle(set.throttle, s.clock.now)
		must(t, err)
	}
	hash, err := set.auth.HashPassword(password)
	must(t, err)
	var people auth.Accounts = accounts{
		"reader@example.com":   {Account: reader, PasswordHash: hash},
		"narrow@example.com":   {Account: narrow, PasswordHash: hash},
		"admin@example.com":    {Account: admin, PasswordHash: hash, Administrative: true},
		"disabled@example.com": {Account: disabled, PasswordHash: hash, Disabled: true},
	}
	if set.people != nil {
		people = set.people
	}
	s.auth, err = auth.New(set.auth, auth.Deps{Keys: keys, Throttle: throttle, Revocations: set.revocations, Now: s.clock.now, Accounts: people})
	must(t, err)
	if set.store == nil {
		set.store = s.store
	}
	service, err := query.New(set.query, set.store, s.clock.now, set.archives...)
	must(t, err)
	s.service = service
	log := slog.New(slog.NewJSONHandler(s.log, nil))
	s.rest, err = rest.New(set.rest, rest.Deps{Service: service, Auth: s.auth, Logger: log, Now: s.clock.now, Mounted: set.mounted, Tracer: set.tracer, Serving: set.serving})
	must(t, err)
	var h http.Handler = s.rest
	// Each exchange of each test is held against the contract, whoever its client is.
	if !set.unchecked {
		h = check.Handler(h, func(err error) { t.Error(err) })
	}
	s.Server = httptest.NewUnstartedServer(h)
	s.Config = rest.NewServer(h, log)
	if set.smallBuffers {
		s.Config.ConnState = func(c net.Conn, state http.ConnState) {
			if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
				_ = tcp.SetWriteBuffer(4 << 10)
			}
		}
	}
	if set.http2 {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	s.client = s.Server.Client()
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type clock struct {
	mu     sync.Mutex
	offset time.Duration
	frozen time.Time // unless zero, it stands still
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen.IsZero() {
		return c.frozen
	}
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type accounts map[string]auth.Credentials

func (a accounts) ByLogin(_ context.Context, login string) (auth.Credentials, error) {
	if c, ok := a[login]; ok {
		return c, nil
	}
	return auth.Credentials{}, fault.New(fault.NotFound, "", "no such login")
}

func (a accounts) Active(_ context.Context, all []contracts.AccountID) ([]contracts.AccountID, error) {
	return all, nil
}

// revocations keeps revoked ids in memory, and fails when told to.
type revocations struct {
	mu           sync.Mutex
	ids          map[string]bool
	write, check error
}

func (r *revocations) Revoke(_ context.Context, jti string, _ time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.write == nil {
		r.ids[jti] = true
	}
	return r.write
}

func (r *revocations) Revoked(jti string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[jti], r.check
}

func (r *revocations) breakDown(write, check error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write, r.check = write, check
}

// token issues one for an account, without the way over a password.
func (s *surface) token(account contracts.AccountID) string {
	s.t.Helper()
	issued, _, err := s.auth.IssueREST(account)
	must(s.t, err)
	return issued.Token.Reveal()
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body []byte
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	ActualBytes, MaxBytes     *int64
}

func (s *surface) do(r *http.Request) answer {
	s.t.Helper()
	resp, err := s.client.Do(r)
	must(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(s.t, err)
	return answer{resp, body}
}

func (s *surface) request(method, path, token string, body io.Reader) *http.Request {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	must(s.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func (s *surface) get(path, token string) answer {
	s.t.Helper()
	return s.do(s.request("GET", path, token, nil))
}

func (s *surface) login(login, password string) answer {
	s.t.Helper()
	body, _ := json.Marshal(map[string]string{"loginIdentifier": login, "password": password})
	return s.postLogin(string(body))
}

func (s *surface) postLogin(body string) answer {
	s.t.Helper()
	r := s.request("POST", "/v1/auth/token", "", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return s.do(r)
}

func (s *surface) logout(token string) answer {
	s.t.Helper()
	return s.do(s.request("POST", "/v1/auth/logout", token, nil))
}

func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// wantProblem checks an error answer in everything all of them share
// (ERR-F1 to ERR-F8, ERR-00a).
func (a answer) wantProblem(t *testing.T, status int, code string) problem {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", a.StatusCode, status, a.body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	if err := check.Problem(a.body); err != nil {
		t.Errorf("no strict problem: %v\n%s", err, a.body)
	}
	p := decode[problem](t, a)
	kebab := strings.ReplaceAll(strings.ToLower(code), "_", "-")
	if p.Status != status || p.Code != code || p.Type != baseURL+"/problems/"+kebab {
		t.Errorf("got %s, want status %d and code %s", a.body, status, code)
	}
	if status != http.StatusRequestEntityTooLarge && (p.ActualBytes != nil || p.MaxBytes != nil) {
		t.Errorf("sizes outside 413: %s", a.body)
	}
	if (status == 401) != (a.Header.Get("WWW-Authenticate") == "Bearer") {
		t.Errorf("WWW-Authenticate %q on %d", a.Header.Get("WWW-Authenticate"), status)
	}
	return p
}

// memory is a store in memory: enough of one to serve every route but those
// about orders.
type memory struct {
	query.Store

	mu       sync.Mutex
	accounts map[contracts.AccountID]*query.Access
	sites    []contracts.Site
	items    []contracts.Item
	rows     []row
	broken   func(method string) error // asked before each read
	blockMax int
	each     func(n int) error // asked before block n of results
	stuck    bool              // results come never: a read ends with its context
	ended    chan error        // how each read of results ended

	generation uint64
	later      []row // that come beyond the watermark of before
}

type row struct {
	item     contracts.ItemID
	site     contracts.SiteKey
	captured time.Time
	price    int64
	seq      uint64
}

func newMemory() *memory {
	whole := query.Visibility{Mandate: 1, Versions: []uint64{1}, Applied: true, Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
	m := &memory{
		accounts: map[contracts.AccountID]*query.Access{
			reader: {Account: reader, Permissions: contracts.Permissions(), Visibility: whole},
			narrow: {Account: narrow, Permissions: []contracts.Permission{contracts.ReadSites}, Visibility: whole},
		},
		sites: []contracts.Site{
			{Site: "market-de", Name: "Market <Germany> & more", SiteType: contracts.Marketplace, CountryCode: "DE", CurrencyCode: "EUR", Operator: "Market", CanonicalCountryMarket: true},
			{Site: "shop-one", Name: "Shop One", SiteType: contracts.Shop, CountryCode: "DE", CurrencyCode: "EUR"},
			{Site: "shop-two", Name: "Shop Two", SiteType: contracts.Shop, CountryCode: "JP", CurrencyCode: "JPY"},
		},
		items: []contracts.Item{
			{ItemID: 11, EAN: "4006381333931", Name: "Marker", Brand: "Example"},
			{ItemID: 12, PZN: "01234562", Name: "Tablets", Manufacturer: "Maker"},
			{ItemID: 13, ASIN: "B000000001", ASINLocale: "de", Name: "Book"},
			{ItemID: 14, ASIN: "B000000001", ASINLocale: "co.uk"},
		},
		blockMax: 7,
		ended:    make(chan error, 100),
	}
	start := time.Now().UTC().Add(-20 * time.Hour).Truncate(time.Millisecond)
	for i := range 50 {
		m.rows = append(m.rows, row{
			item: m.items[i%4].ItemID, site: m.sites[i%3].Site, captured: start.Add(time.Duration(i) * time.Minute), price: int64(1000 + i), seq: uint64(i + 1),
		})
	}
	return m
}

func (m *memory) breakDown(f func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = f
}

func (m *memory) ask(method string) error {
	m.mu.Lock()
	f := m.broken
	m.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(method)
}

func (m *memory) Access(_ context.Context, account contracts.AccountID) (*query.Access, error) {
	if err := m.ask("Access"); err != nil {
		return nil, err
	}
	if a, ok := m.accounts[account]; ok {
		now := *a
		edge, err := m.Edge(context.Background())
		now.Watermark, now.Generation = edge.Watermark, edge.Generation
		return &now, err
	}
	return nil, fault.New(fault.NotFound, "", "no such account")
}

// Edge implements query.Store.
func (m *memory) Edge(context.Context) (query.Edge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return query.Edge{Watermark: query.Watermark{Epoch: 1, Seq: 1<<40 + uint64(len(m.later))}, Generation: m.generation}, nil
}

// arrive makes rows visible.
func (m *memory) arrive(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.later = append(m.later, row{item: 11, site: "shop-one", captured: time.Now(), price: 1_500, seq: 1<<40 + uint64(len(m.later)) + 1})
	}
}

// rebuild makes the rows anew.
func (m *memory) rebuild() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
}

// Feed implements query.Store.
func (m *memory) Feed(_ context.Context, _ query.Visibility, q *query.FeedQuery, each func(*query.Block) error) error {
	if err := m.ask("Feed"); err != nil {
		return err
	}
	m.mu.Lock()
	var found []row
	for _, r := range m.later {
		if r.seq > q.After.Seq && r.seq <= q.Rows.Watermark.Seq && len(found) < q.Limit && (q.Rows.Selectors.Site == "" || q.Rows.Selectors.Site == r.site) {
			found = append(found, r)
		}
	}
	m.mu.Unlock()
	if len(found) == 0 {
		return nil
	}
	return each(blockOf(found))
}

func (m *memory) Sites(_ context.Context, _ query.Visibility, q query.SitesQuery) ([]contracts.Site, error) {
	if err := m.ask("Sites"); err != nil {
		return nil, err
	}
	var found []contracts.Site
	for _, s := range m.sites {
		if s.Site > q.After && (q.Site == "" || s.Site == q.Site) && len(found) < q.Limit {
			found = append(found, s)
		}
	}
	return found, nil
}

func (m *memory) Items(_ context.Context, _ query.Visibility, after contracts.ItemID, limit int) ([]contracts.Item, error) {
	if err := m.ask("Items"); err != nil {
		return nil, err
	}
	var found []contracts.Item
	for _, i := range m.items {
		if i.ItemID > after && len(found) < limit {
			found = append(found, i)
		}
	}
	return found, nil
}

func selects(s query.Selectors, i contracts.Item) bool {
	return (s.Item == 0 || s.Item == i.ItemID) && (s.EAN == "" || s.EAN == i.EAN) && (s.PZN == "" || s.PZN == i.PZN) &&
		(s.ASIN == "" || s.ASIN == i.ASIN) && (s.ASINLocale == "" || s.ASINLocale == i.ASINLocale)
}

func (m *memory) CountPairs(context.Context, query.Visibility, query.Selectors) (query.ScopeSize, error) {
	return query.ScopeSize{Pairs: 12, Items: 4, Sites: 3}, m.ask("CountPairs")
}

func (m *memory) PairsBySite(context.Context, query.Visibility, query.Selectors) (map[contracts.SiteKey]uint64, error) {
	return map[contracts.SiteKey]uint64{"shop-one": 4, "shop-two": 4, "market-de": 4}, m.ask("PairsBySite")
}

func (m *memory) Results(ctx context.Context, _ query.Visibility, q *query.ResultsQuery, each func(*query.Block) error) (err error) {
	defer func() { m.ended <- err }()
	if err := m.ask("Results"); err != nil {
		return err
	}
	if m.stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	var found []row
	for _, r := range m.rows {
		item := m.items[slices.IndexFunc(m.items, func(i contracts.Item) bool { return i.ItemID == r.item })]
		if !selects(q.Selectors, item) || q.Selectors.Site != "" && q.Selectors.Site != r.site ||
			!q.Window.From.IsZero() && r.captured.Before(q.Window.From) || !q.Window.To.IsZero() && r.captured.After(q.Window.To) {
			continue
		}
		if after := q.After; after != nil {
			order := cmp.Or(cmp.Compare(r.captured.UnixMilli(), after.CapturedMs), cmp.Compare(r.item, after.Item))
			if q.Ascending && order <= 0 || !q.Ascending && order >= 0 {
				continue
			}
		}
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b row) int {
		order := a.captured.Compare(b.captured)
		if q.Ascending {
			return order
		}
		return -order
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	n := 0
	for part := range slices.Chunk(found, m.blockMax) {
		if m.each != nil {
			if err := m.each(n); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(blockOf(part)); err != nil {
			return err
		}
		n++
	}
	if m.each != nil {
		return m.each(n)
	}
	return nil
}

func blockOf(rows []row) *query.Block {
	b := &query.Block{Len: len(rows)}
	add := func(d *query.Dict, s string) {
		d.Index = append(d.Index, uint32(d.Values.Len()))
		d.Values.Append(s)
	}
	for _, r := range rows {
		b.Item = append(b.Item, uint64(r.item))
		add(&b.Site, string(r.site))
		b.CapturedMs = append(b.CapturedMs, r.captured.UnixMilli())
		b.Epoch, b.Seq = append(b.Epoch, 1), append(b.Seq, r.seq)
		b.Capture, b.Offer = append(b.Capture, 0), append(b.Offer, 0)
		b.Outcome = append(b.Outcome, uint8(contracts.PriceObserved))
		add(&b.Currency, "EUR")
		b.PriceMinor = append(b.PriceMinor, r.price)
		add(&b.Merchant, "Merchant \"One\"")
		b.ShippingMinor = append(b.ShippingMinor, -1)
		b.IsPrime, b.IsBuyBox = append(b.IsPrime, uint8(contracts.FlagTrue)), append(b.IsBuyBox, uint8(contracts.FlagFalse))
		b.RatingTenths = append(b.RatingTenths, contracts.NoRating)
		add(&b.Manufacturer, "")
		add(&b.DeliveryText, "tomorrow")
		b.Title.Append("a title")
		b.URL.Append("")
	}
	return b
}

func (m *memory) ItemRecords(_ context.Context, ids []contracts.ItemID) (found []contracts.Item, err error) {
	for _, i := range m.items {
		if slices.Contains(ids, i.ItemID) {
			found = append(found, i)
		}
	}
	return found, m.ask("ItemRecords")
}

func (m *memory) ReferencePrices(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.ReferencePrices, error) {
	return []contracts.ReferencePrices{{MandateID: 1, ItemID: 11, Prices: []contracts.ReferencePrice{
		{AmountMinor: 999, CurrencyCode: "EUR", PriceType: "purchase", ReferenceQuantity: "1"},
	}}}, nil
}

func (m *memory) CustomerData(context.Context, query.Visibility, []contracts.ItemID) ([]contracts.CustomerData, error) {
	return []contracts.CustomerData{{MandateID: 1, ItemID: 11, Fields: map[string]string{"shelf": "A 4"}}}, nil
}

func (m *memory) PairOrders(context.Context, query.Visibility, []contracts.ItemID) (map[contracts.Pair][]contracts.OrderID, error) {
	return map[contracts.Pair][]contracts.OrderID{{Item: 11, Site: "market-de"}: {5, 6}}, nil
}

func (m *memory) LastProcessed(context.Context, query.Visibility, []contracts.ItemID) (map[contracts.Pair]time.Time, error) {
	return map[contracts.Pair]time.Time{{Item: 11, Site: "market-de"}: time.Unix(1_790_000_000, 0)}, nil
}

func (m *memory) SiteRecords(context.Context) ([]contracts.Site, error) { return m.sites, nil }

var errBroken = errors.New("secret cause at 10.0.0.7")

func trust(prefix string) func(*settings) {
	return func(s *settings) { s.rest.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(prefix)} }
}

// Statistics has one record for each item, without more.
func (m *memory) Statistics(_ context.Context, _ query.Visibility, q *query.StatisticsQuery) (found []query.Statistic, err error) {
	if err := m.ask("Statistics"); err != nil {
		return nil, err
	}
	found = append(found, query.Statistic{Whole: true, Pairs: uint64(len(m.items))})
	for _, i := range m.items {
		if at := (query.StatisticPlace{Item: i.ItemID, Bucket: 1}); i.ItemID > q.After.Item && len(found) < q.Limit {
			found = append(found, query.Statistic{StatisticPlace: at, Pairs: 1, Unknown: 1})
		}
	}
	return found, nil
}

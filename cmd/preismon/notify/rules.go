// Package notify delivers alerts: it polls /ext/v1/alerts by the rules of a file
// and delivers each alert to its targets, at least once and, for each target, in
// the order of the feed. Its state is a file of tokens, written after each
// delivery; so if the program is killed between the two, the delivery is
// repeated, with the same id. The package knows HTTP and the client, but nothing
// of the server.
package notify

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"preismon/contracts"
)

// File is the rules file.
type File struct {
	// AllowHosts are hosts of targets that may have private addresses, and of
	// webhooks that may be called by http.
	AllowHosts []string          `yaml:"allowHosts"`
	Targets    map[string]Target `yaml:"targets"`
	Rules      []Rule            `yaml:"rules"`
}

// Target is where alerts go: one of webhook, email and command.
type Target struct {
	Webhook *Webhook `yaml:"webhook"`
	Email   *Email   `yaml:"email"`
	Command []string `yaml:"command"` // a program and its arguments; no shell
	// GiveUpAfter is how long an alert is tried before it is logged in full and
	// skipped; empty: for ever.
	GiveUpAfter scalar `yaml:"giveUpAfter"`
}

// Webhook is an address that accepts Standard Webhooks.
type Webhook struct {
	URL string `yaml:"url"`
	// SecretFile holds the secret: whsec_ and 24 to 64 bytes in base64.
	SecretFile string `yaml:"secretFile"`

	key []byte
}

// Rule is one query of /ext/v1/alerts, with the targets of its alerts. What its
// fields mean is documented there; the server validates their values.
type Rule struct {
	Name    string   `yaml:"name"`
	Targets []string `yaml:"targets"`
	// WhenLost is what happens when the feed cannot be continued: begin (the
	// default) continues from now, stop ends this rule for its target.
	WhenLost string `yaml:"whenLost"`

	// SilentFor, without a rule, reports sites where nothing has been captured
	// for this long. With the rule NO_OBSERVATION it is a parameter: item-site
	// pairs are reported.
	SilentFor scalar `yaml:"silentFor"`

	Rule         scalar `yaml:"rule"`
	Price        scalar `yaml:"price"`
	CurrencyCode scalar `yaml:"currencyCode"`
	Percent      scalar `yaml:"percent"`
	OwnMerchant  scalar `yaml:"ownMerchant"`
	Confirm      scalar `yaml:"confirm"`
	RearmPercent scalar `yaml:"rearmPercent"`
	Site         scalar `yaml:"site"`
	ItemID       scalar `yaml:"itemId"`
	EAN          scalar `yaml:"ean"`
	PZN          scalar `yaml:"pzn"`
	ASIN         scalar `yaml:"asin"`
	ASINLocale   scalar `yaml:"asinLocale"`
	OrderID      scalar `yaml:"orderId"`
	Timezone     scalar `yaml:"timezone"`
}

// params returns those of the request: its scalars.
func (r Rule) params() url.Values {
	p := url.Values{}
	for field, value := range reflect.ValueOf(r).Fields() {
		if field.Type == reflect.TypeFor[scalar]() && !value.IsZero() {
			p.Set(field.Tag.Get("yaml"), value.String())
		}
	}
	if r.ofSites() {
		p.Del("silentFor")
	}
	return p
}

// ofSites reports whether the rule is about silent sites.
func (r Rule) ofSites() bool { return r.Rule == "" }

// Load reads a rules file. All faults are reported at once, with their lines.
func Load(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse parses the text of a rules file, typed by hand: the YAML library has
// been known to panic on broken input.
func parse(text []byte) (f *File, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, fmt.Errorf("rules: not YAML: %v", r)
		}
	}()
	c := &checker{file: &File{}}
	if err := c.read(text); err != nil {
		return nil, err
	}
	c.check()
	return c.file, c.faults.Err()
}

// checker collects the faults of a file.
type checker struct {
	file   *File
	root   *ast.File
	faults contracts.Faults
}

var names = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

func (c *checker) check() {
	f := c.file
	c.want(len(f.Targets) > 0, "$", "targets: none")
	c.want(len(f.Rules) > 0, "$", "rules: none")
	for _, name := range sorted(f.Targets) {
		at := "$.targets." + name
		c.want(names.MatchString(name), "$.targets", "targets: the name %q is not of a-z, 0-9 and -", name)
		t := f.Targets[name]
		kinds := 0
		for _, is := range []bool{t.Webhook != nil, t.Email != nil, len(t.Command) > 0} {
			if is {
				kinds++
			}
		}
		c.want(kinds == 1, at, "targets.%s: name a webhook, an email or a command, and one of them", name)
		if t.GiveUpAfter != "" {
			d, err := time.ParseDuration(string(t.GiveUpAfter))
			c.want(err == nil && d >= time.Minute, at+".giveUpAfter", "targets.%s: giveUpAfter: %q is no duration of at least 1m, like 72h", name, t.GiveUpAfter)
		}
		if t.Email != nil {
			c.email(name, t.Email)
		}
		if t.Webhook != nil {
			c.webhook(name, t.Webhook)
		}
	}
	seen := map[string]bool{}
	for n, r := range f.Rules {
		at, name := fmt.Sprintf("$.rules[%d]", n), fmt.Sprintf("rules[%d]", n)
		c.want(names.MatchString(r.Name), at, "%s: name: %q is not of a-z, 0-9 and -, 1 to 40 of them", name, r.Name)
		c.want(!seen[r.Name], at, "%s: name: %q is another rule's", name, r.Name)
		seen[r.Name] = true
		c.want(r.Rule != "" || r.SilentFor != "", at, "%s: rule: missing", name)
		if r.SilentFor != "" && r.ofSites() {
			c.silent(at, name, r)
		}
		c.want(len(r.Targets) > 0, at, "%s: targets: none", name)
		c.want(slices.Contains([]string{"", "begin", "stop"}, r.WhenLost), at+".whenLost", "%s: whenLost: %q is neither begin nor stop", name, r.WhenLost)
		for i, target := range r.Targets {
			_, known := f.Targets[target]
			c.want(known, at+".targets", "%s: targets: %q is none of the file's", name, target)
			c.want(!slices.Contains(r.Targets[:i], target), at+".targets", "%s: targets: %q twice", name, target)
		}
	}
}

func (c *checker) webhook(name string, w *Webhook) {
	at := "$.targets." + name + ".webhook"
	u, err := url.Parse(w.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		c.want(false, at+".url", "targets.%s: url: not of the form https://HOST[:PORT]/PATH", name)
		return
	}
	allowed := c.file.allows(u.Hostname())
	c.want(allowed || u.Scheme == "https", at+".url", "targets.%s: url: http goes to a host of allowHosts only", name)
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !allowed {
		err := guard().SafeAddr(ip)
		c.want(err == nil, at+".url", "targets.%s: url: %s is no public address, and not one of allowHosts", name, ip)
	}
	text, err := os.ReadFile(w.SecretFile)
	if err == nil {
		w.key, err = keyOf(string(text))
	}
	c.want(err == nil, at+".secretFile", "targets.%s: secretFile: %v", name, err)
}

// allows reports whether a host may have any address.
func (f *File) allows(host string) bool {
	return slices.ContainsFunc(f.AllowHosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// Plan describes in sentences what a run does, without secrets.
func (f *File) Plan() (lines []string) {
	for _, r := range f.Rules {
		for _, name := range r.Targets {
			to := fmt.Sprintf("the command %q", f.Targets[name].Command)
			if w := f.Targets[name].Webhook; w != nil {
				u, _ := url.Parse(w.URL) // was checked
				to = "the webhook at " + u.Host
			}
			if e := f.Targets[name].Email; e != nil {
				to = "mail by " + e.Server + " to " + strings.Join(e.To, ", ")
			}
			parameters, _ := url.QueryUnescape(r.params().Encode())
			if r.ofSites() {
				parameters = strings.TrimSuffix("silentFor="+string(r.SilentFor)+"&"+parameters, "&")
			}
			lines = append(lines, fmt.Sprintf("%s: %s, to %s, %s", r.Name, parameters, name, to))
		}
	}
	return lines
}

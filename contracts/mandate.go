package contracts

import (
	"regexp"
	"slices"
	"strings"
)

// Mandate is a customer. Its package limits how many items its orders make
// visible (VIS-01b).
type Mandate struct {
	MandateID MandateID `json:"mandateId"`
	Name      string    `json:"name"`
	Package   Package   `json:"package"`
}

// Package is what a mandate has booked.
type Package struct {
	Name     string `json:"name"`
	MaxItems int    `json:"maxItems"` // distinct items over all active orders, the oldest orders first
}

// Validate returns every fault of the record.
func (m Mandate) Validate() error {
	var f Faults
	f.id("mandateId", uint64(m.MandateID))
	f.text("name", m.Name, true, 256)
	f.text("package.name", m.Package.Name, true, 64)
	f.Check(m.Package.MaxItems >= 0, "package.maxItems: %d is negative", m.Package.MaxItems)
	return f.Err()
}

// Permission is a domain area that an account may read.
type Permission string

const (
	ReadSites   Permission = "sites"
	ReadItems   Permission = "items"
	ReadOrders  Permission = "orders"
	ReadResults Permission = "results"
	ReadFiles   Permission = "files" // exports, imports and their archived files
)

// Permissions returns every permission.
func Permissions() []Permission {
	return []Permission{ReadSites, ReadItems, ReadOrders, ReadResults, ReadFiles}
}

// Account is a user of a mandate. PasswordHash is argon2id in PHC form; the
// password itself is in no event.
type Account struct {
	AccountID       AccountID    `json:"accountId"`
	MandateID       MandateID    `json:"mandateId"`
	LoginIdentifier string       `json:"loginIdentifier"` // lower case
	PasswordHash    string       `json:"passwordHash"`
	Administrative  bool         `json:"administrative,omitempty"` // refused by the service (AUTH-04)
	Disabled        bool         `json:"disabled,omitempty"`
	Permissions     []Permission `json:"permissions"`
	Scope           AccountScope `json:"scope"`
}

// AccountScope narrows an account within its mandate. Both parts must allow a
// pair. An empty list allows nothing: access to everything must be explicit.
type AccountScope struct {
	AllOrders bool      `json:"allOrders,omitempty"`
	Orders    []OrderID `json:"orders,omitempty"`
	AllSites  bool      `json:"allSites,omitempty"`
	Sites     []SiteKey `json:"sites,omitempty"`
}

// WholeMandate reports whether the scope is the mandate's whole scope.
func (s AccountScope) WholeMandate() bool { return s.AllOrders && s.AllSites }

var argon2idForm = regexp.MustCompile(`^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$`)

// Validate returns every fault of the record.
func (a Account) Validate() error {
	var f Faults
	f.id("accountId", uint64(a.AccountID))
	f.id("mandateId", uint64(a.MandateID))
	f.text("loginIdentifier", a.LoginIdentifier, true, 256)
	f.Check(a.LoginIdentifier == strings.ToLower(strings.TrimSpace(a.LoginIdentifier)), "loginIdentifier: not in lower case without blanks around it")
	f.Check(argon2idForm.MatchString(a.PasswordHash), "passwordHash: not argon2id in PHC form")
	for _, p := range a.Permissions {
		f.Check(slices.Contains(Permissions(), p), "permissions: %q is none of %v", p, Permissions())
	}
	for _, s := range a.Scope.Sites {
		f.Check(s.Valid(), "scope.sites: %q is not a site key", s)
	}
	f.Check(!a.Scope.AllOrders || len(a.Scope.Orders) == 0, "scope: allOrders and orders at once")
	f.Check(!a.Scope.AllSites || len(a.Scope.Sites) == 0, "scope: allSites and sites at once")
	return f.Err()
}

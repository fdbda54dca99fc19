package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"preismon/ingest/market"
)

// page is what the start of `up` tells a person.
type page struct {
	url, admin, dir, market, accountsFile string
	accounts                              []market.DemoAccount
}

func welcome(w io.Writer, p page) {
	fmt.Fprintf(w, "\npreismon %s\n\n", build())
	fmt.Fprintf(w, "  API      %s\n  Admin    %s/readyz, /metrics\n  Data     %s\n", p.url, p.admin, p.dir)
	if len(p.accounts) == 0 {
		fmt.Fprintf(w, "\nThere are no accounts yet unless you made some. Import prices of your own:\n\n"+
			"  preismon import prices.csv --map prices.yaml --mandate \"Our shop\" --login me --data-dir %s\n\n", p.dir)
		return
	}
	fmt.Fprintf(w, "\n%s\n", indent(p.market))
	fmt.Fprintf(w, "\nLogins (also in %s)\n\n", p.accountsFile)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range p.accounts {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", a.LoginIdentifier, a.Password, a.Mandate, a.Sees)
	}
	_ = t.Flush() // a terminal that went away is no reason to stop
	first := p.accounts[0]
	fmt.Fprintf(w, `
Try it

  TOKEN=$(curl -s %[1]s/v1/auth/token -H 'Content-Type: application/json' -d '{"loginIdentifier":"%[2]s","password":"%[3]s"}' | sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
  curl -s -H "Authorization: Bearer $TOKEN" '%[1]s/v1/sites'
  curl -s -H "Authorization: Bearer $TOKEN" '%[1]s/v1/results?limit=3&includeIdentity=true'

`, p.url, first.LoginIdentifier, first.Password)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

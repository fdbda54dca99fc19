package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"preismon/ingest/market"
)

// page is what the start of `up` shows the user.
type page struct {
	url, admin, dir, market, accountsFile string
	accounts                              []market.DemoAccount // of a running market; without them accountsFile may be that of one that stands still
}

func welcome(w io.Writer, p page) {
	fmt.Fprintf(w, "\npreismon %s\n\n", build())
	fmt.Fprintf(w, "  Explorer %[1]s/explorer/\n  API      %[1]s\n  Agents   %[1]s/mcp\n  Admin    %[2]s/readyz, /metrics\n  Data     %[3]s\n", p.url, p.admin, p.dir)
	if len(p.accounts) == 0 {
		if p.accountsFile != "" {
			fmt.Fprintf(w, "\nThis folder holds a simulated market, which stands still without --demo. Its logins: %s\n\n", p.accountsFile)
			return
		}
		fmt.Fprintf(w, "\nThere are no accounts yet unless you made some. Import prices of your own:\n\n"+
			"  preismon import prices.csv --mandate \"Our shop\" --login me --data-dir %s\n\n", p.dir)
		return
	}
	showMarket(w, p)
	first := p.accounts[0]
	fmt.Fprintf(w, `
Try it

  TOKEN=$(curl -s %[1]s/v1/auth/token -H 'Content-Type: application/json' -d '{"loginIdentifier":"%[2]s","password":"%[3]s"}' | sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
  curl -s -H "Authorization: Bearer $TOKEN" '%[1]s/v1/sites'
  curl -s -H "Authorization: Bearer $TOKEN" '%[1]s/v1/results?limit=3&includeIdentity=true'

`, p.url, first.LoginIdentifier, first.Password)
}

// showMarket prints what there is to see, and the logins for it.
func showMarket(w io.Writer, p page) {
	fmt.Fprintf(w, "\n  %s\n", strings.ReplaceAll(strings.TrimSpace(p.market), "\n", "\n  "))
	fmt.Fprintf(w, "\nLogins (also in %s)\n\n", p.accountsFile)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range p.accounts {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", a.LoginIdentifier, a.Password, a.Mandate, a.Sees)
	}
	_ = t.Flush() // a terminal that has gone is no reason to stop
}

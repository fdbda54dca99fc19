package main

import (
	"testing"

	"preismon/deploy/testserver/chromium"
)

// explorerLive checks in a browser pages that stay open for a while: they
// follow the feed, what a person is using stays, and a page that lacked Preact
// opens when it is there.
func (d *demoTest) explorerLive(t *testing.T) {
	account := d.account(t, "anna")
	plan := explorerPlan{Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password, Site: "demo-markt-de.example"}
	plan.Items = []string{notMonitored(t, d.client(t, "anna"))[0]}
	chromium.Run(t, "testdata/explorer/live.mjs", plan, nil)
}

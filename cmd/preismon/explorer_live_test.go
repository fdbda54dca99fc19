package main

import (
	"testing"

	"preismon/deploy/testserver/chromium"
)

// explorerLive has a browser look at pages that are open for a while: they
// follow the feed, what somebody is at stays, and they open without Preact
// once it is there.
func (d *demoTest) explorerLive(t *testing.T) {
	account := d.account(t, "anna")
	plan := explorerPlan{Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password, Site: "demo-markt-de.example"}
	plan.Items = []string{notMonitored(t, d.client(t, "anna"))[0]}
	chromium.Run(t, "testdata/explorer/live.mjs", plan, nil)
}

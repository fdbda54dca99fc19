package main

import (
	"testing"

	"preismon/deploy/testserver/chromium"
)

// explorerInk has a browser look at the pixels of a history: there is ink
// where something was seen, and nowhere else.
func (d *demoTest) explorerInk(t *testing.T) {
	account := d.account(t, "anna")
	client := d.client(t, "anna")
	plan := explorerPlan{Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password, Site: "demo-markt-de.example"}
	plan.Items = []string{notMonitored(t, client)[0]}
	chromium.Run(t, "testdata/explorer/ink.mjs", plan, nil)
}

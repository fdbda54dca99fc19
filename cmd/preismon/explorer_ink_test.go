package main

import (
	"testing"

	"preismon/deploy/testserver/chromium"
)

// The limits that the explorer promises, and how much slower a busy machine may
// be: the tests share two processors with servers and browsers.
const (
	mostScriptBytes  = 75_000 // of script, compressed
	firstNumberMS    = 800
	firstChartMS     = 1200
	busyMachine      = 4 // times
	frameMS          = 1000 / 60.
	framesOnSoftware = 3 // how many frames' time one may take on a busy machine without a graphics processor
)

// explorerInk checks in a browser the pixels of a history, the size of the page
// and how soon it appears.
func (d *demoTest) explorerInk(t *testing.T) {
	account := d.account(t, "anna")
	client := d.client(t, "anna")
	plan := explorerPlan{Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password, Site: "demo-markt-de.example"}
	plan.Items = []string{notMonitored(t, client)[0]}
	type first struct {
		MS             float64
		Bytes, Scripts int
	}
	var said struct {
		Number, Chart first
		Pan           []float64 // ms of frames, ascending
	}
	chromium.Run(t, "testdata/explorer/ink.mjs", plan, &said)
	if t.Failed() {
		return
	}
	median, p95 := said.Pan[len(said.Pan)/2], said.Pan[len(said.Pan)*95/100]
	t.Logf("first number after %.0f ms, first chart after %.0f ms, %d bytes of %d scripts; a pan of 100,000 points: frames of %.1f ms, p95 %.1f ms",
		said.Number.MS, said.Chart.MS, said.Chart.Bytes, said.Chart.Scripts, median, p95)
	if said.Chart.Bytes > mostScriptBytes || said.Chart.Scripts < 3 || said.Number.Bytes == 0 {
		t.Errorf("scripts: %+v, %+v", said.Number, said.Chart)
	}
	if said.Number.MS > firstNumberMS*busyMachine || said.Chart.MS > firstChartMS*busyMachine {
		t.Errorf("the first number comes after %.0f ms, the first chart after %.0f ms", said.Number.MS, said.Chart.MS)
	}
	if median > frameMS*framesOnSoftware {
		t.Errorf("a pan of 100,000 points has frames of %.1f ms", median)
	}
}

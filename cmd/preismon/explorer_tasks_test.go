package main

import (
	"encoding/json"
	"flag"
	"net/url"
	"testing"
	"time"

	"preismon/deploy/testserver/chromium"
	"preismon/deploy/testserver/must"
)

// mostTaskSeconds is how long a task may take, including its reads.
const mostTaskSeconds = 4

var allTasks = flag.Bool("tasks.all", false, "every task in every language, width and way, not in one turn of them")

// explorerTasks performs in a browser the tasks of analysts, and prints how
// they went.
func (d *demoTest) explorerTasks(t *testing.T) {
	account := d.account(t, "anna")
	plan := struct {
		explorerPlan
		Item   string   `json:"item"`   // one with an EAN
		Before string   `json:"before"` // a day before the window
		Days   []string `json:"days"`   // when each day of the window begins in Berlin, and the end of the last one
		All    bool     `json:"all"`    // every task in every turn
	}{All: *allTasks, explorerPlan: explorerPlan{Base: d.up.URL, Hosts: []string{d.up.URL + "/"}, Login: account.LoginIdentifier, Password: account.Password, Site: "demo-markt-de.example"}}
	berlin := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	to := time.Now().Add(-d.market.MaxDelay()).Truncate(time.Minute).In(berlin) // all late observations are in
	from := to.AddDate(0, 0, -30)
	for at := from; at.Before(to); at = time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, berlin) {
		plan.Days = append(plan.Days, at.UTC().Format(time.RFC3339))
	}
	plan.From, plan.To, plan.Before = from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), from.UTC().Add(-24*time.Hour).Format(time.RFC3339)
	plan.Days = append(plan.Days, plan.To)
	d.chooseProducts(t, d.client(t, "anna"), &plan.explorerPlan, url.Values{"capturedFrom": {plan.From}, "capturedTo": {plan.To}, "includeExportFields": {"true"}})
	var items struct {
		Data []struct{ ItemID, EAN string }
	}
	if _, body := d.client(t, "anna").get("/v1/items", nil); json.Unmarshal(body, &items) != nil {
		t.Fatalf("items: %s", body)
	}
	for _, i := range items.Data {
		if i.EAN != "" {
			plan.Item = i.ItemID
		}
	}
	var said []struct {
		Task, Scheme, Lang, Fault string
		Keys                      bool // by keyboard
		Width, Clicks, Max        int
		Seconds                   float64
	}
	chromium.Run(t, "testdata/explorer/tasks.mjs", plan, &said)
	for _, s := range said {
		by := map[bool]string{false: "mouse", true: "keyboard"}[s.Keys]
		most := mostTaskSeconds * busyMachine
		if s.Keys || s.Task == "link-through-login" { // each key waits for the effect of the previous one; it opens a second browser
			most *= 2
		}
		ok := s.Fault == "" && s.Clicks <= s.Max && s.Seconds <= float64(most)
		t.Logf("task=%s width=%d clicks=%d max=%d seconds=%.1f ok=%t scheme=%s lang=%s by=%s", s.Task, s.Width, s.Clicks, s.Max, s.Seconds, ok, s.Scheme, s.Lang, by)
		if !ok {
			t.Errorf("%s at %d, %s, by %s: %d clicks, %.1f s, %s", s.Task, s.Width, s.Lang, by, s.Clicks, s.Seconds, s.Fault)
		}
	}
	want := 2 * 18
	if *allTasks {
		want *= 3
	}
	if len(said) != want {
		t.Errorf("%d tasks were done, not %d", len(said), want)
	}
}

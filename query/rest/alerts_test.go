package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
)

const alertsAt = "/ext/v1/alerts"

type alertsPage struct {
	Data []struct {
		AlertID, ItemID, Site string
		ComparedPrice         float64
		Before, After         *struct{ CapturedAt string }
		Deadline              string
	}
	Progress feedProgress
}

// Alerts are requested like changes: as a page, as lines, as a tail; wrong
// parameters are named.
func TestAlertsPagesAndTails(t *testing.T) {
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	const rule = "rule=PRICE_BELOW&price=15.01&currencyCode=EUR"
	begun := decode[alertsPage](t, s.get(alertsAt+"?"+rule, s.token(reader)))
	if len(begun.Data) != 0 || !begun.Progress.UpToDate {
		t.Fatalf("%+v", begun)
	}
	lines, _ := s.tail(t.Context(), alertsAt, "since="+begun.Progress.Token)
	s.store.arrive(3)
	page := decode[alertsPage](t, s.get(alertsAt+"?wait=5s&since="+begun.Progress.Token, s.token(reader)))
	if len(page.Data) != 1 || page.Data[0].ComparedPrice != 15.01 || page.Data[0].Before != nil || page.Data[0].After.CapturedAt == "" {
		t.Fatalf("%+v", page)
	}
	for line := range lines {
		if line.AlertID == page.Data[0].AlertID {
			break
		}
		if line.Control == "end" || line.Control == "reset" {
			t.Fatalf("%+v", line)
		}
	}
	r := s.request("GET", alertsAt+"?since="+begun.Progress.Token, s.token(reader), nil)
	r.Header.Set("Accept", "application/x-ndjson")
	a := s.do(r)
	told := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
	var last controlLine
	if must.Do(t, json.Unmarshal([]byte(told[len(told)-1]), &last)); len(told) != 2 || last.Control != "progress" || !last.UpToDate {
		t.Errorf("%s", a.body)
	}
	if n := s.service.Stats(); n.Alerts != 3 || n.FeedRows != 0 { // a page, a tail and lines
		t.Errorf("%d alerts, %d rows", n.Alerts, n.FeedRows)
	}
	for query, named := range map[string]string{
		"": "rule", "rule=CHEAPER": "rule", "rule=PRICE_BELOW": "price", "rule=PRICE_BELOW&price=1": "currencyCode", "rule=PRICE_BELOW&price=1.001&currencyCode=EUR": "price",
		"rule=PRICE_DROP&percent=100": "percent", "rule=PRICE_DROP": "percent", "rule=OUT_OF_STOCK&confirm=6": "confirm", "rule=OUT_OF_STOCK&confirm=0": "confirm",
		"rule=OUT_OF_STOCK&merchant=x": "merchant", "rule=OUT_OF_STOCK&limit=1001": "limit", "rule=OUT_OF_STOCK&since=" + begun.Progress.Token: "since",
		"site=shop-one&since=" + begun.Progress.Token: "since", "rule=OUT_OF_STOCK&rearmPercent=5": "rearmPercent",
		"rule=NO_OBSERVATION": "silentFor", "rule=NO_OBSERVATION&silentFor=0h": "silentFor", "rule=NO_OBSERVATION&silentFor=169h": "silentFor", "rule=NO_OBSERVATION&silentFor=90m": "silentFor",
		"rule=NO_OBSERVATION&silentFor=6h&confirm=2": "confirm", "rule=OUT_OF_STOCK&silentFor=6h": "silentFor", "silentFor=6h&since=" + begun.Progress.Token: "since",
	} {
		if p := s.get(alertsAt+"?"+query, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR"); !strings.Contains(p.Detail, named) {
			t.Errorf("%s: %s", query, p.Detail)
		}
	}
}

// Silences come by time alone: a request that waits and a tail get them though
// the tables do not move, and a tail reports its progress and its end as others
// do.
func TestSilencesPagesAndTails(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	const rule = "?rule=NO_OBSERVATION&silentFor=20h"
	begun := decode[alertsPage](t, s.get(alertsAt+rule, s.token(reader)))
	lines, broken := s.tail(t.Context(), alertsAt, rule[1:])
	if l := <-lines; l.Control != "progress" || !l.UpToDate || len(begun.Data) != 0 || !begun.Progress.UpToDate {
		t.Fatalf("%+v, %+v", l, begun)
	}
	waited := waiting(t, func() answer { return s.get(alertsAt+"?wait=25s&since="+begun.Progress.Token, s.token(reader)) })
	advanced := time.Now()
	s.clock.advance(time.Hour) // the captures of the twelve pairs were made 19 hours before, or a little more
	page := decode[alertsPage](t, <-waited)
	if took := time.Since(advanced); len(page.Data) != 12 || !page.Progress.UpToDate || took > 10*time.Second {
		t.Fatalf("after %v: %+v", took, page)
	}
	ids := map[string]bool{}
	for i, a := range page.Data {
		captured := must.Get(time.Parse(time.RFC3339, a.Before.CapturedAt))(t)
		deadline := must.Get(time.Parse(time.RFC3339, a.Deadline))(t)
		if deadline.Sub(captured) != 20*time.Hour || a.After != nil || i > 0 && a.Deadline < page.Data[i-1].Deadline {
			t.Errorf("%+v", a)
		}
		ids[a.AlertID] = true
	}
	for told := 0; told < 12; told++ {
		for l := range lines {
			if l.Control == "" {
				if !ids[l.AlertID] {
					t.Errorf("%+v", l)
				}
				break
			}
		}
	}
	var got []string
	for since := begun.Progress.Token; ; {
		one := decode[alertsPage](t, s.get(alertsAt+"?limit=5&since="+since, s.token(reader)))
		for _, a := range one.Data {
			got = append(got, a.AlertID)
		}
		if since = one.Progress.Token; one.Progress.UpToDate {
			break
		}
	}
	if len(got) != 12 || got[0] != page.Data[0].AlertID || got[11] != page.Data[11].AlertID {
		t.Errorf("by pages of 5: %q", got)
	}
	reported := 0
	for l := range lines { // time alone makes its token newer
		if l.Control == "progress" {
			if reported++; reported == 2 {
				break
			}
		}
	}
	reset, over := s.tail(t.Context(), alertsAt, "since="+begun.Progress.Token)
	go func() { _ = s.rest.Drain(t.Context()) }()
	if end, _ := last(t, lines, broken); end.Control != "end" || end.Reason != "NODE_STOPS" || end.Token == "" {
		t.Errorf("%+v", end)
	}
	if end, rows := last(t, reset, over); end.Control != "end" || rows != 12 {
		t.Errorf("%d alerts, then %+v", rows, end)
	}
}

// A tail about silence ends like others if it cannot go on.
func TestSilencesAreReset(t *testing.T) {
	t.Parallel() // it mostly waits
	s := serve(t, func(set *settings) { set.throttle.Reads.Requests = 1_000 })
	lines, broken := s.tail(t.Context(), alertsAt, "rule=NO_OBSERVATION&silentFor=20h&site=shop-one")
	<-lines
	s.store.rebuild()
	if end, rows := last(t, lines, broken); end.Control != "reset" || end.Reason != "CHANGES_HISTORY_REBUILT" || rows != 0 {
		t.Errorf("%d rows, then %+v", rows, end)
	}
}

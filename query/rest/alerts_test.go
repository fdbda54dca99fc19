package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
)

const alertsAt = "/ext/v1/alerts"

type alertsPage struct {
	Data []struct {
		AlertID, ItemID, Site string
		ComparedPrice         float64
		Before, After         *struct{ CapturedAt string }
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
	if must(t, json.Unmarshal([]byte(told[len(told)-1]), &last)); len(told) != 2 || last.Control != "progress" || !last.UpToDate {
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
	} {
		if p := s.get(alertsAt+"?"+query, s.token(reader)).wantProblem(t, 400, "MVP_VALIDATION_ERROR"); !strings.Contains(p.Detail, named) {
			t.Errorf("%s: %s", query, p.Detail)
		}
	}
}

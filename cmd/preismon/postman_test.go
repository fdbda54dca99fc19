package main

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

// postman: the published collection passes unchanged, with a login and an order
// that has archived files (PUB-05a, GEN-10c).
func (d *demoTest) postman(t *testing.T) {
	effort.Full(t, "a runner of Postman collections")
	c := d.client(t, "anna")
	status, collection := c.get(openapi.PostmanPath, nil)
	if status != 200 {
		t.Fatalf("%d", status)
	}
	account := d.account(t, "anna")
	variables := map[string]string{"loginIdentifier": account.LoginIdentifier, "password": account.Password}
	variables["orderId"] = orderWithFiles(t, c)
	dir := t.TempDir()
	file, report := filepath.Join(dir, "collection.json"), filepath.Join(dir, "report.json")
	must.Do(t, os.WriteFile(file, collection, 0o600))
	args := []string{"run", file, "--reporters", "cli,json", "--reporter-json-export", report, "--timeout-request", "120000", "--color", "off"}
	for name, value := range variables {
		args = append(args, "--env-var", name+"="+value)
	}
	out, err := exec.CommandContext(t.Context(), tools.Program(t, "newman"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("newman: %v\n%s", err, out)
	}
	text := must.Get(os.ReadFile(report))(t)
	var run struct {
		Run struct {
			Stats struct {
				Requests, Assertions struct{ Total, Failed, Pending int }
			}
			Executions []struct {
				Item     struct{ Name string }
				Response struct{ Code int }
			}
		}
	}
	must.Do(t, json.Unmarshal(text, &run))
	for _, e := range run.Run.Executions {
		if e.Response.Code != 200 {
			t.Errorf("%s: %d", e.Item.Name, e.Response.Code)
		}
	}
	want := strings.Count(string(collection), `"request": {`)
	if s := run.Run.Stats; s.Requests.Total != want || s.Requests.Failed != 0 || s.Assertions.Failed != 0 || s.Assertions.Total < 3*want {
		t.Errorf("%d requests in the collection: %+v", want, s)
	}
}

// orderWithFiles returns an order that has archived files of exports and of
// imports.
func orderWithFiles(t *testing.T, c *api) string {
	t.Helper()
	type list struct {
		Data []struct {
			OrderID        string  `json:"orderId"`
			LastArchivedAt *string `json:"lastArchivedAt"`
		} `json:"data"`
	}
	read := func(path string, params url.Values) (page list) {
		status, body := c.get(path, params)
		if err := json.Unmarshal(body, &page); err != nil || status != 200 {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		return page
	}
	for _, order := range read("/v1/orders", nil).Data {
		found := 0
		for _, kind := range []string{"/exports/history", "/imports/history"} {
			if len(read("/v1/orders/"+order.OrderID+kind, url.Values{"limit": {"1"}}).Data) > 0 {
				found++
			}
		}
		if found == 2 {
			return order.OrderID
		}
	}
	t.Fatal("no order has files of exports and of imports")
	return ""
}

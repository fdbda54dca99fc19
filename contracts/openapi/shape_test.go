package openapi_test

import (
	"encoding/json"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func shapeText(t *testing.T, v any) string {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	return string(text)
}

func TestParametersComeInOrderWithoutReferences(t *testing.T) {
	got := must.Get(openapi.Parameters("listObservationQuality"))(t)
	var names []string
	for _, p := range got {
		names = append(names, p.Name)
		if p.Required != (p.Name == "orderId") {
			t.Errorf("%s: required %t", p.Name, p.Required)
		}
	}
	equals.Check(t, []string{"orderId", "limit", "cursor", "site", "reasonCode"}, names)
	if got := shapeText(t, got[3].Schema); got != `{"pattern":"^[a-z0-9][a-z0-9._-]{0,63}$","type":"string"}` {
		t.Error(got)
	}
}

func TestAnAnswerShapeNamesMembersAndTypes(t *testing.T) {
	got := must.Get(openapi.AnswerShape("getLatestImport"))(t)
	const want = `{"properties":{"archivedAt":{"type":"string"},"contentType":{"enum":["text/csv; charset=utf-8",` +
		`"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet","application/zip","application/octet-stream"]},` +
		`"filename":{"description":"What a download is called","type":"string"},` +
		`"name":{"description":"Name of the file entry","type":"string"},"sizeBytes":{"type":"integer"}},` +
		`"required":["name","filename","contentType","sizeBytes","archivedAt"],"type":"object"}`
	equals.Check(t, want, shapeText(t, got))
	order := must.Get(openapi.AnswerShape("getOrder"))(t)
	monitoring := order["properties"].(openapi.Schema)["monitoring"].(openapi.Schema)["properties"].(openapi.Schema)
	if said := order["properties"].(openapi.Schema)["coverage"].(openapi.Schema)["properties"].(openapi.Schema)["ratio"].(openapi.Schema)["description"]; said != "Observed to configured" { // the first clause
		t.Error(said)
	}
	if got := shapeText(t, monitoring["lastRunAt"]); got != `{"type":["string","null"]}` {
		t.Error(got)
	}
}

func TestAShapeOfWhatIsNotThere(t *testing.T) {
	if _, err := openapi.Parameters("nothing"); err == nil {
		t.Error("parameters of no operation")
	}
	if _, err := openapi.AnswerShape("downloadExport"); err == nil {
		t.Error("a JSON shape of a file")
	}
}

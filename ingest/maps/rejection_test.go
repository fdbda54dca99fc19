package maps

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"preismon/deploy/testserver/must"
)

// settings collects all settings of a mapping, by their paths.
func settings(t reflect.Type, under string, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Map {
		if t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct {
			under += ".NAME"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != "" {
			path := strings.TrimPrefix(under+"."+name, ".")
			into[path] = true
			settings(f.Type, path, into)
		}
	}
}

// TestRejectionsNameSettings: every reason for a rejection names a setting that
// a mapping has, or a flag, and nothing else that looks like a setting.
func TestRejectionsNameSettings(t *testing.T) {
	known := map[string]bool{}
	settings(reflect.TypeFor[Mapping](), "", known)
	if !known["columns.price.missing"] || !known["sites.NAME.zone"] || !known["distinguish"] {
		t.Fatalf("the settings of a mapping were not found: %v", known)
	}
	path := regexp.MustCompile(`\b(csv|columns|sites|defaultSite|distinguish)\b(\.[A-Za-z]+)*`)
	source := must.Get(os.ReadFile("rejection.go"))(t)
	causes := regexp.MustCompile(`= &cause\{"?(.*?)"?, "(.*)"\}`).FindAllSubmatch(source, -1)
	if len(causes) < 30 {
		t.Fatalf("%d causes were found", len(causes))
	}
	for _, cause := range causes {
		code, help := string(cause[1]), string(cause[2])
		named := path.FindAllString(help, -1)
		if len(named) == 0 && !strings.Contains(help, "--conflicts") {
			t.Errorf("%s names no setting: %s", code, help)
		}
		for _, p := range named {
			if !known[p] {
				t.Errorf("%s names %s, which no mapping has", code, p)
			}
		}
	}
}

package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"preismon/contracts/strictjson"
)

// TestMembers: every member in order, repeated names included, and nothing
// besides one object.
func TestMembers(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                      ``,
		` {"a":1,"b":[{}, "x"]} `: `a=1;b=[{}, "x"];`,
		`{ "a" : "x" , "b": 2 }`:  `a="x";b=2;`,
		`{"a":1,"A":2,"a":null}`:  `a=1;A=2;a=null;`,
		`{"\u0061":"\n"}`:         `a="\n";`,
		`{"a":1} {}`:              `a=1;not one JSON object: something follows it`,
		`{"a":1}x`:                `a=1;not one JSON object: something follows it`,
		`[]`:                      `no object`,
		`null`:                    `no object`,
		``:                        `no object`,
		`{"a":1,`:                 `a=1;no object`,
		`{"a"}`:                   `no object`,
		`{"a":01}`:                `a=0;no object`,
		`{"a":1`:                  `a=1;no object`,
		`{1:2}`:                   `no object`,
		`{"stop":1,"never":}`:     `stop=1;stopped`,
	} {
		got := ""
		err := strictjson.Members([]byte(text), func(name string, value json.RawMessage) error {
			got += fmt.Sprintf("%s=%s;", name, value)
			if name == "stop" {
				return errors.New("stopped")
			}
			return nil
		})
		switch {
		case errors.Is(err, strictjson.ErrNoObject) && !errors.Is(err, strictjson.ErrAfter):
			got += "no object"
		case err != nil:
			got += err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

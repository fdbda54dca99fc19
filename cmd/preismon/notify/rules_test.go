package notify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/cmd/preismon/notify"
	"preismon/deploy/testserver/must"
)

// All faults of a file are reported at once, with their lines.
func TestFaultsOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	text := `target: {}
targets:
  a:
    webhook: {url: "https://10.0.0.7/x", secretFile: /nowhere}
  b: {}
  c:
    webhook:
      url: http://shop.example/
      secretFile: /dev/null
rules:
  - name: Drops
    rule: PRICE_DROP
    pct: 10
    targets: [a, d]
  - name: x
    whenLost: ask
    targets: [a, a]
`
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := notify.Load(file)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{
		"line 1: target: not known", "line 4: targets.a: url: 10.0.0.7 is no public", "line 4: targets.a: secretFile: open /nowhere", "targets.b: name a webhook, an email or a command",
		"line 8: targets.c: url: http", "line 9: targets.c: secretFile: is not whsec_", `line 11: rules[0]: name: "Drops"`, "line 13: rules[0].pct: not known", `line 14: rules[0]: targets: "d"`,
		"line 15: rules[1]: rule: missing", "line 16: rules[1]: whenLost", `line 17: rules[1]: targets: "a" twice`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %s", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	for _, text := range []string{"", "# nothing", "a: [", "{}\n---\n{}", "7", "rules: 7", "rules: {a: b}", "rules: [{price: {a: b}}]", "targets: [a]", "{}"} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := notify.Load(file); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestPlan(t *testing.T) {
	w := newWorld(t)
	f := w.rules("    price: 9.90\n    ean: 0401234567012\n", "  hook: {webhook: {url: 'https://shop.example/SECRET', secretFile: DIR/secret}}\n  desk: {command: [tell, -x]}", "hook", "desk")
	want := "drops: ean=0401234567012&percent=10&price=9.90&rule=PRICE_DROP, to hook, the webhook at shop.example\ndrops: ean=0401234567012&percent=10&price=9.90&rule=PRICE_DROP, to desk, the command [\"tell\" \"-x\"]"
	if got := strings.Join(f.Plan(), "\n"); got != want {
		t.Errorf("%s", got)
	}
}

package ingest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

func TestConfigNamesEveryFault(t *testing.T) {
	t.Parallel()
	err := ingest.Config{
		URL: "http://user:hunter2@host, nats://ok:4222, ::hunter2", Token: "hunter2", CAFile: "/nowhere/ca.pem",
	}.Validate()
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{"scheme", "number 3", "token", "ca.pem"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret is shown: %v", err)
	}
	if got, want := (ingest.Config{URL: "nats://user:hunter2@a:1,nats://b:2,tls://token@c:3"}).RedactedURL(), "nats://***@a:1,nats://b:2,tls://***@c:3"; got != want {
		t.Errorf("redacted %s, want %s", got, want)
	}
	if _, err := ingest.Connect(ingest.Config{URL: "nats://user:hunter2@127.0.0.1:1"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("connecting to nothing: %v", err)
	}
}

func TestStreamsKeepWhatAnOperatorRaised(t *testing.T) {
	t.Parallel()
	_, js := connect(t)
	ctx := t.Context()
	get := func(name string) jetstream.StreamConfig {
		s := must.Get(js.Stream(ctx, name))(t)
		return s.CachedInfo().Config
	}
	obs := get(event.StreamObservations)
	if obs.Discard != jetstream.DiscardNew || !obs.DenyDelete || !obs.DenyPurge || obs.Duplicates != 10*time.Minute || obs.Storage != jetstream.FileStorage {
		t.Errorf("observations: %+v", obs)
	}
	if c := get(event.StreamCatalog); c.MaxMsgsPerSubject != 1 || c.MaxAge != 0 || c.MaxBytes != -1 {
		t.Errorf("catalog: %+v", c)
	}
	// An operator raises some, and lowers one.
	obs.MaxAge, obs.Duplicates, obs.MaxBytes = 60*24*time.Hour, time.Hour, 5<<30
	obs.Metadata = map[string]string{"owner": "ops"}
	must.Get(js.UpdateStream(ctx, obs))(t)
	must.Do(t, ingest.EnsureStreams(ctx, js, ingest.StreamConfig{MaxBytes: 1 << 30, DuplicateWindow: 5 * time.Minute}))
	obs = get(event.StreamObservations)
	if obs.MaxAge != 60*24*time.Hour || obs.Duplicates != time.Hour || obs.MaxBytes != 5<<30 || obs.Metadata["owner"] != "ops" {
		t.Errorf("an operator's settings are lost: %+v", obs)
	}
	must.Do(t, ingest.EnsureStreams(ctx, js, ingest.StreamConfig{MaxBytes: 6 << 30}))
	equals.Is(t, 6<<30, get(event.StreamObservations).MaxBytes, "max bytes, not raised")
	if err := (ingest.StreamConfig{Replicas: 9, MaxAge: time.Minute, DuplicateWindow: time.Millisecond}).Validate(); err == nil || strings.Count(err.Error(), "\n") < 1 {
		t.Errorf("faults: %v", err)
	}
}

func distinct(ids []string) int {
	s := slices.Clone(ids)
	slices.Sort(s)
	return len(slices.Compact(s))
}

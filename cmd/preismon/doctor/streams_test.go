package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
)

// onStreams is a site with the streams of a new installation.
func onStreams(t *testing.T) *Site {
	t.Helper()
	nc := must.Get(ingest.Connect(ingest.Config{URL: testserver.NATS(t), Name: t.Name()}))(t)
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))(t)
	must.Do(t, ingest.EnsureStreams(t.Context(), js, ingest.StreamConfig{}))
	return &Site{NATS: nc, JS: js, Partitions: 1, Flags: ofFolder, Now: time.Now}
}

// wants compares the only finding of a check.
func wants(t *testing.T, found []Finding, state State, says, mend string) {
	t.Helper()
	if len(found) != 1 || found[0].State != state || !strings.Contains(found[0].Says, says) || !strings.HasPrefix(found[0].Fix, mend) || (found[0].Fix == "") != (state == OK) {
		t.Errorf("%+v, want one %s: %q, mended by %q", found, state, says, mend)
	}
}

// TestLogins: a login of two accounts that may both log in lets neither in.
func TestLogins(t *testing.T) {
	s := onStreams(t)
	publish := func(id contracts.AccountID, mandate contracts.MandateID, disabled bool) {
		t.Helper()
		account := &contracts.Account{AccountID: id, MandateID: mandate, LoginIdentifier: "me@example.com", PasswordHash: `$argon2id$v=19$m=19456,t=2,p=1$Bel/juX7cL2j4LWoLd543g$odnlUHBqwI+h6s8w6ONCbl1vM4nR/pbN/KGrOS3advc`, Disabled: disabled, Permissions: contracts.Permissions(), Scope: contracts.AccountScope{AllOrders: true, AllSites: true}}
		e := &event.Event{ID: uuid.NewString(), Kind: event.KindAccount, Producer: "test", ProducedAt: time.Now().UTC(), Data: account}
		text := must.Get(event.Encode(e))(t)
		if _, err := s.JS.Publish(t.Context(), e.Subject(), text); err != nil { // a publisher of ours would refuse the second
			t.Fatal(err)
		}
	}
	wants(t, s.logins(t.Context()), OK, "0 accounts", "")
	publish(1, 10, false)
	publish(2, 20, false)
	wants(t, s.logins(t.Context()), Bad, `"me@example.com" belongs to 2 accounts`, "preismon accounts list --data-dir x")
	publish(2, 20, true)
	wants(t, s.logins(t.Context()), OK, "1 accounts", "")
}

// TestLetters: a waiting dead letter is reported, and in time before it is
// removed.
func TestLetters(t *testing.T) {
	s := onStreams(t)
	wants(t, s.letters(t.Context()), OK, "none waits", "")
	m := &nats.Msg{Subject: event.DeadLetterSubject(event.StreamObservations), Data: []byte("{"), Header: nats.Header{
		event.HeaderReason: {"no JSON"}, event.HeaderStream: {event.StreamObservations}, event.HeaderEpoch: {"1"}, event.HeaderSeq: {"1"}, event.HeaderSubject: {"observations.shop-1=example"},
	}}
	must.Get(s.JS.PublishMsg(t.Context(), m))(t)
	stream := must.Get(s.JS.Stream(t.Context(), event.StreamDeadLetters))(t)
	kept, published := stream.CachedInfo().Config.MaxAge, time.Now()
	const mend = "preismon deadletters list --pending --data-dir x"
	wants(t, s.letters(t.Context()), Warning, "1 wait, the newest because of: no JSON", mend)
	s.Now = func() time.Time { return published.Add(kept - soon - time.Hour) }
	wants(t, s.letters(t.Context()), Warning, "no JSON", mend)
	s.Now = func() time.Time { return published.Add(kept - soon + time.Hour) }
	wants(t, s.letters(t.Context()), Bad, "the oldest is removed in 13 days", mend)
}

// TestLag: a projector that never read is reported missing, and one that falls
// behind is reported.
func TestLag(t *testing.T) {
	s := onStreams(t)
	wants(t, s.lag(t.Context()), Bad, "none of partition 0 of 1 has read the stream", "preismon projector")
	for _, stream := range []string{event.StreamCatalog, event.StreamObservations} {
		must.Get(s.JS.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{Durable: ingest.ProjectorConsumer(0, 1), AckPolicy: jetstream.AckExplicitPolicy}))(t)
	}
	wants(t, s.lag(t.Context()), OK, "0 messages wait", "")
	for range 10_000 {
		must.Get(s.JS.PublishAsync("observations.shop-1=example", nil, jetstream.WithStallWait(time.Minute)))(t)
	}
	select {
	case <-s.JS.PublishAsyncComplete():
	case <-time.After(time.Minute):
		t.Fatal("10,000 messages are not stored in a minute")
	}
	wants(t, s.lag(t.Context()), Warning, "10000 messages wait", "curl ")
}

// TestReplicas: replicas that are behind are named, and a stream without a
// leader is bad.
func TestReplicas(t *testing.T) {
	info := func(leader string, replicas ...*jetstream.PeerInfo) *jetstream.StreamInfo {
		return &jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: 3}, Cluster: &jetstream.ClusterInfo{Leader: leader, Replicas: replicas}}
	}
	good, late, away := &jetstream.PeerInfo{Name: "good", Current: true}, &jetstream.PeerInfo{Name: "late"}, &jetstream.PeerInfo{Name: "away", Current: true, Offline: true}
	wants(t, replicas("S", &jetstream.StreamInfo{Config: jetstream.StreamConfig{Replicas: 1}}), OK, "one copy", "")
	wants(t, replicas("S", info("n1", good, good)), OK, "3 copies, all up to date", "")
	wants(t, replicas("S", info("n1", late, away)), Warning, "not up to date: late, away", "nats server report")
	wants(t, replicas("S", info("", late, good)), Bad, "no leader", "nats server list")
}

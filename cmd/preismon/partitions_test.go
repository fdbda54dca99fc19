package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts/event"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/migrated"
	"preismon/deploy/testserver/must"
	"preismon/ingest"
	"preismon/ingest/market"
)

// TestPartitions runs the projectors of two partitions on separate databases,
// and an operator's commands on each. A projector started on the tables of
// another partition ends and gives the reason, and a command that waits must be
// told for which partition.
func TestPartitions(t *testing.T) {
	effort.Full(t, "several partitions")
	t.Parallel()
	nats := testserver.NATS(t)
	_, catalogue, observations := aMarket(t, market.Config{Seed: 11, Scale: 0.02}, 6*time.Hour)
	servers := []*testserver.ClickHouseServer{migrated.ClickHouse(t), migrated.ClickHouse(t)}
	args := func(command string, on, partition int, more ...string) []string {
		dsn := servers[on].ProjectorDSN
		if command == "rebuild" {
			dsn = servers[on].AdminDSN
		}
		return append([]string{command, "--nats-url", nats, "--clickhouse-dsn", dsn, "--partition", strconv.Itoa(partition), "--partitions", "2"}, more...)
	}
	for p := range servers {
		startRole(t, args("projector", p, p, "--admin-listen", "127.0.0.1:0")...)
	}
	var text bytes.Buffer
	ndjson(t, &text, append(catalogue, observations...))
	exits(t, 0)(inProcess(t, "ingest", "--nats-url", nats, file(t, "events.ndjson", text.String())))
	events := func() (n uint64) {
		for _, s := range servers {
			n += number(t, database(t, s.AdminDSN), "SELECT count() FROM ingested_events")
		}
		return n
	}
	must.Eventually(t, time.Minute, "both have applied everything", func() bool { return events() == uint64(len(observations)) })
	for p, s := range servers {
		db := database(t, s.AdminDSN)
		settle(t, db)
		if n, items := number(t, db, "SELECT count() FROM observations"), number(t, db, "SELECT count() FROM items FINAL"); n == 0 || items == 0 {
			t.Errorf("partition %d has %d rows and %d items", p, n, items)
		}
		exits(t, 0, "Sequences of other partitions: ")(inProcess(t, args("audit", p, p, "--content")...))
		for _, command := range []string{"projector", "audit", "rebuild"} {
			_, errs, code := preismon(t, nil, args(command, p, 1-p)...)
			if want := "the tables are of another partition: partition " + strconv.Itoa(p) + " of 2 wrote them"; code != exitFailed || !strings.Contains(errs, want) {
				t.Errorf("%s of partition %d on the tables of the other: exit code %d: %s", command, 1-p, code, errs)
			}
		}
	}
	exits(t, 0)(inProcess(t, args("rebuild", 1, 1)...))
	if out, errs, code := inProcess(t, args("audit", 1, 1)...); code != 0 || events() != uint64(len(observations)) {
		t.Errorf("audit after the rebuild: exit code %d: %s%s", code, out, errs)
	}
	exits(t, exitUsage, "partition: 2, of 2")(inProcess(t, args("projector", 0, 2)...))
	// A durable consumer from when there was only one projector.
	b := must.Get(connect(ingest.Config{URL: nats, Name: t.Name()}))(t)
	defer b.conn.Close()
	must.Get(b.js.CreateConsumer(t.Context(), event.StreamObservations, jetstream.ConsumerConfig{Durable: ingest.ProjectorConsumer(0, 1)}))(t)
	table := file(t, "prices.csv", "site,product_key,ean,name,brand,captured_at,price,currency,available,unit,url,quantity,unit_price,regular_price,valid_from,valid_to\n"+
		"il-keshet-014,1,4006381333931,Thing,,2026-10-01,9.90,ILS,true,,,,,,,\n")
	for n, want := range map[string]string{"0": "projectors of 1 and of 2 partitions: say by --partitions", "2": "", "-1": "partitions: -1"} {
		_, errs, code := preismon(t, []string{"PREISMON_PASSWORD=a long password"}, "import", table, "--map", "observations", "--mandate", "M", "--login", "m@example.com",
			"--nats-url", nats, "--partitions="+n)
		if (code == 0) != (want == "") || !strings.Contains(errs, want) {
			t.Errorf("import --partitions %s: exit code %d: %s", n, code, errs)
		}
	}
}

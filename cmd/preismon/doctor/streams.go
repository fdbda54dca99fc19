package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"preismon/contracts"
	"preismon/contracts/event"
	"preismon/ingest"
)

// soon is how long before its removal a dead letter becomes urgent; at most a
// sixth of the time that letters are kept.
const soon = 14 * 24 * time.Hour

// streams checks NATS, its clock and whether the streams exist.
func (s *Site) streams(ctx context.Context) []Finding {
	const check = "NATS"
	if s.JS == nil {
		return one(check, Bad, "nats server ping # does it run, are --nats-url and its user right", "it does not answer: %v", s.NATSErr)
	}
	found := one(check, OK, "", "version %s", s.NATS.ConnectedServerVersion())
	for i, name := range []string{event.StreamCatalog, event.StreamObservations} {
		queriedAt := s.Now()
		stream, err := s.JS.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			found = append(found, one("stream "+name, Bad, "preismon projector ... # it makes the streams", "it is not there")...)
			continue
		case err != nil:
			found = append(found, one("stream "+name, Bad, "nats stream info "+name, "%v", err)...)
			continue
		}
		info := stream.CachedInfo()
		if i == 0 && !info.TimeStamp.IsZero() {
			found = append(found, s.clock("clock of NATS", info.TimeStamp, queriedAt)...)
		}
		found = append(found, replicas(name, info)...)
	}
	return found
}

// replicas checks whether all copies of a stream are up to date.
func replicas(name string, info *jetstream.StreamInfo) []Finding {
	check, text := "stream "+name, fmt.Sprintf("%d messages", info.State.Msgs)
	if info.Cluster == nil || info.Config.Replicas < 2 {
		return one(check, OK, "", "%s, one copy", text)
	}
	var behind []string
	for _, r := range info.Cluster.Replicas {
		if r.Offline || !r.Current {
			behind = append(behind, r.Name)
		}
	}
	if info.Cluster.Leader == "" {
		return one(check, Bad, "nats server list # and start those that are away", "%s, and no leader", text)
	}
	if len(behind) > 0 {
		return one(check, Warning, "nats server report jetstream", "%s; not up to date: %s", text, strings.Join(behind, ", "))
	}
	return one(check, OK, "", "%s, %d copies, all up to date", text, info.Config.Replicas)
}

// lag checks how much is published but not yet covered by the checkpoint.
func (s *Site) lag(ctx context.Context) []Finding {
	const check = "projector"
	waits := uint64(0)
	for _, name := range []string{event.StreamCatalog, event.StreamObservations} {
		stream, err := s.JS.Stream(ctx, name)
		if err != nil {
			return nil // reported already
		}
		c, err := stream.Consumer(ctx, ingest.ProjectorConsumer(s.Partition, s.Partitions))
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return one(check, Bad, "preismon projector ...", "none of partition %d of %d has read the stream %s yet", s.Partition, s.Partitions, name)
		}
		if err != nil {
			return one(check, Unknown, s.command("audit"), "%v", err)
		}
		info := c.CachedInfo()
		waits += info.NumPending + uint64(info.NumAckPending)
	}
	return one(check, beyond(waits, 10_000, 1_000_000), "curl -sS http://ADMIN/metrics | grep preismon_projector # of the projector, and see its log", "%d messages wait to be written", waits)
}

// letters checks for messages that could not be read.
func (s *Site) letters(ctx context.Context) []Finding {
	const check = "dead letters"
	list, matching, err := ingest.NewDeadLetters(s.JS).List(ctx, ingest.LetterFilter{Pending: true})
	switch {
	case err != nil:
		return one(check, Unknown, s.command("audit"), "%v", err)
	case matching == 0:
		return one(check, OK, "", "none waits")
	}
	stream, err := s.JS.Stream(ctx, event.StreamDeadLetters)
	if err != nil {
		return one(check, Unknown, s.command("audit"), "%v", err)
	}
	kept, oldest := stream.CachedInfo().Config.MaxAge, list[len(list)-1].At
	text := fmt.Sprintf("%d wait, the newest because of: %s", matching, list[0].Reason)
	if goes := oldest.Add(kept).Sub(s.Now()); kept > 0 && goes < min(soon, kept/6) {
		return one(check, Bad, s.natsCommand("deadletters list --pending"), "%s; the oldest is removed in %d days", text, int(goes.Hours()/24))
	}
	return one(check, Warning, s.natsCommand("deadletters list --pending"), "%s", text)
}

// logins checks for a login that two accounts share: neither can log in.
func (s *Site) logins(ctx context.Context) []Finding {
	const check = "logins"
	all, err := ingest.Accounts(ctx, s.JS)
	if err != nil {
		return one(check, Unknown, s.command("audit"), "%v", err)
	}
	by := map[string][]*contracts.Account{}
	for _, a := range all {
		if !a.Disabled {
			by[a.LoginIdentifier] = append(by[a.LoginIdentifier], a)
		}
	}
	var found []Finding
	for _, login := range slices.Sorted(maps.Keys(by)) {
		if of := by[login]; len(of) > 1 {
			found = append(found, one(check, Bad, s.natsCommand("accounts list")+" # then accounts disable one of them", "%q belongs to %d accounts, among them %s of mandate %s and %s of mandate %s",
				login, len(of), of[0].AccountID, of[0].MandateID, of[1].AccountID, of[1].MandateID)...)
		}
	}
	if found == nil {
		return one(check, OK, "", "%d accounts may log in, each with a login of its own", len(by))
	}
	return found
}

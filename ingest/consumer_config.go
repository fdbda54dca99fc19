package ingest

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/trace"

	"preismon/contracts"
	"preismon/contracts/event"
)

// ConsumerConfig configures the consumer loop; 0 selects the default.
type ConsumerConfig struct {
	// Partition of Partitions is this loop's share of OBSERVATIONS, by
	// event.Partition. Messages of other partitions are passed over unread: the
	// sink gets batches that extend past them. A message of CATALOG that cannot
	// be read is put into the dead letters once, by whichever partitions cannot
	// read it.
	Partition, Partitions int
	Name                  string // of the durable consumers; ProjectorConsumer
	SkipPoison            bool   // leave out what cannot be read: another loop has put it into the dead letters

	// A batch ends at the first of these: result rows (100,000), bytes as
	// published (32 MiB), messages (10,000), and, while the sink is idle, the
	// time since its first message (100 ms). So batches are small while little
	// comes in, and large while there is a backlog. At most four are in memory:
	// two in the sink, one that is full, and the one being read after it.
	MaxBytes    int
	MaxMessages int
	Linger      time.Duration
	PassLinger  time.Duration // instead of Linger, for a batch that only passes over others' messages; 250 ms, or Linger if that is longer

	AckWait time.Duration // after which the server delivers again; 60 s
	Grace   time.Duration // for the batch in the sink when the loop must end; 20 s

	Tracer trace.Tracer // creates the spans of batches; nil: none are created
}

const (
	maxBatchRows = 100_000          // result rows of one batch
	sinkBackoff  = 10 * time.Second // longest wait between two tries of the sink
)

func (c ConsumerConfig) withDefaults() ConsumerConfig {
	c.Partitions = cmp.Or(c.Partitions, 1)
	c.MaxBytes = cmp.Or(c.MaxBytes, 32<<20)
	c.MaxMessages = cmp.Or(c.MaxMessages, 10_000)
	c.Linger = cmp.Or(c.Linger, 100*time.Millisecond)
	c.PassLinger = cmp.Or(c.PassLinger, max(c.Linger, 250*time.Millisecond))
	c.AckWait = cmp.Or(c.AckWait, 60*time.Second)
	c.Grace = cmp.Or(c.Grace, 20*time.Second)
	c.Name = cmp.Or(c.Name, ProjectorConsumer(c.Partition, c.Partitions))
	return c
}

// reach returns the maximum number of messages that one batch covers, including
// those of other partitions: more than its own limit, so that a share of a
// backlog fills a batch too.
func (c ConsumerConfig) reach() int { return c.MaxMessages * min(c.Partitions, maxReach) }

const maxReach = 8

// owns reports whether the message belongs to this loop's partition.
func (c ConsumerConfig) owns(subject string) bool {
	return event.Partition(subject, c.Partitions) == c.Partition
}

// Validate returns every fault of the configuration.
func (c ConsumerConfig) Validate() error {
	var f contracts.Faults
	c = c.withDefaults()
	if err := event.CheckPartition(c.Partition, c.Partitions); err != nil {
		f.Addf("consumer %w", err)
	}
	f.Check(c.MaxBytes > 0 && c.MaxMessages > 0, "consumer batch limits: not positive")
	f.Check(c.MaxMessages <= 1_000_000, "consumer batch messages: %d, at most 1000000", c.MaxMessages)
	f.Check(c.Linger > 0 && c.PassLinger > 0 && c.Grace > 0, "consumer times: not positive")
	f.Check(c.AckWait >= time.Second, "consumer ack wait: %s is shorter than a second", c.AckWait)
	return f.Err()
}

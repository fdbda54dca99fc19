package cluster

import (
	"time"
	_ "unsafe" // for go:linkname
)

// Heartbeat and election timeouts of nats-server, for which there is no option.
// Its own tests shorten them too: otherwise 500 compositions of faults would wait for two hours.
//
//go:linkname heartbeat github.com/nats-io/nats-server/v2/server.hbInterval
var heartbeat time.Duration

//go:linkname soonestElection github.com/nats-io/nats-server/v2/server.minElectionTimeout
var soonestElection time.Duration

//go:linkname latestElection github.com/nats-io/nats-server/v2/server.maxElectionTimeout
var latestElection time.Duration

//go:linkname quorumLost github.com/nats-io/nats-server/v2/server.lostQuorumInterval
var quorumLost time.Duration

//go:linkname quorumCheck github.com/nats-io/nats-server/v2/server.lostQuorumCheck
var quorumCheck time.Duration

// Quick lets servers elect each other in 2.5 to 4 s instead of 4 to 9 s. It
// applies to the whole process, and must be called before the first Start.
func Quick() {
	heartbeat, soonestElection, latestElection = 250*time.Millisecond, 2500*time.Millisecond, 4*time.Second
	quorumLost, quorumCheck = 3*time.Second, time.Second
}

package faults_test

import (
	"context"
	"math/rand/v2"
	"time"

	"preismon/contracts/event"
	"preismon/deploy/testserver/cluster"
	"preismon/ingest"
)

// clusterFaults are those of three NATS servers. alone: no other fault of the
// cluster may overlap it.
var clusterFaults = []fault{
	{name: "cluster-follower-late", core: true, do: followerLate},
	{name: "cluster-leader-late", do: func(w *world, rnd *rand.Rand) error {
		return lateAround(w, rnd, func(stream, _ int) int { return stream })
	}},
	{name: "cluster-consumer-late", do: func(w *world, rnd *rand.Rand) error {
		return lateAround(w, rnd, func(_, consumer int) int { return consumer })
	}},
	{name: "cluster-server-killed", do: func(w *world, rnd *rand.Rand) error { return w.serverKilled(rnd, rnd.IntN(cluster.Size)) }},
	{name: "cluster-leader-killed", core: true, do: func(w *world, rnd *rand.Rand) error {
		stream, _, err := w.clusterLeaders()
		if err != nil {
			return err
		}
		return w.serverKilled(rnd, stream)
	}},
	{name: "cluster-consumer-leader-killed", do: func(w *world, rnd *rand.Rand) error {
		_, consumer, err := w.clusterLeaders()
		if err != nil {
			return err
		}
		return w.serverKilled(rnd, consumer)
	}},
	{name: "cluster-rolling-restart", alone: true, do: func(w *world, rnd *rand.Rand) error {
		for i := range cluster.Size {
			if err := w.cluster.Whole(context.Background()); err != nil {
				return err
			}
			if err := w.serverKilled(rnd, i); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "cluster-leaders-deposed", core: true, do: leadersDeposed},
	{name: "cluster-minority-serves", core: true, do: func(w *world, rnd *rand.Rand) error {
		i := rnd.IntN(cluster.Size)
		if stream, _, err := w.clusterLeaders(); err == nil && rnd.IntN(2) == 0 {
			i = stream
		}
		w.cluster.Split(i)
		time.Sleep(200*time.Millisecond + upTo(rnd, 3*time.Second))
		w.cluster.Join(i)
		return nil
	}},
	{name: "cluster-route-cut", do: func(w *world, rnd *rand.Rand) error {
		i := rnd.IntN(cluster.Size)
		w.cluster.Cut(i, (i+1)%cluster.Size)
		time.Sleep(200*time.Millisecond + upTo(rnd, 2*time.Second))
		w.cluster.Join(i)
		return nil
	}},
	{name: "cluster-clients-cut", do: func(w *world, rnd *rand.Rand) error {
		for range 3 {
			w.cluster.Clients(rnd.IntN(cluster.Size)).Reset()
			time.Sleep(upTo(rnd, 300*time.Millisecond))
		}
		return nil
	}},
	{name: "cluster-old-disk", core: true, alone: true, do: oldDisk},
}

// lateness is 40 ms to 5 s, more often short than long.
func lateness(rnd *rand.Rand) time.Duration {
	if rnd.IntN(5) == 0 {
		return time.Second + upTo(rnd, 4*time.Second)
	}
	return 40*time.Millisecond + upTo(rnd, 600*time.Millisecond)
}

// followerLate moves the consumer's leader to another server than the stream's,
// delays that server, and has the stream opened again.
func followerLate(w *world, rnd *rand.Rand) error {
	stream, consumer, err := w.clusterLeaders()
	for try := 0; err == nil && stream == consumer && try < 5; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = w.cluster.StepDown(ctx, w.conn(), event.StreamObservations, ingest.ProjectorConsumer(0, 1), (stream+1+rnd.IntN(2))%cluster.Size)
		cancel()
		time.Sleep(100 * time.Millisecond)
		stream, consumer, err = w.clusterLeaders()
	}
	if err != nil {
		return err
	}
	late := lateness(rnd)
	w.cluster.Late(stream, consumer, late)
	defer w.cluster.Late(stream, consumer, 0)
	for range 1 + rnd.IntN(2) {
		time.Sleep(100*time.Millisecond + upTo(rnd, late))
		switch rnd.IntN(3) {
		case 0: // the session ends, and the consumer is reset
			for i := range cluster.Size {
				w.cluster.Clients(i).Reset()
			}
		case 1:
			_ = w.streams().DeleteConsumer(context.Background(), event.StreamObservations, ingest.ProjectorConsumer(0, 1))
		default:
			if leader, _, err := w.leader(); err == nil {
				leader.Kill()
				if err := restart(leader); err != nil {
					return err
				}
			}
		}
	}
	time.Sleep(upTo(rnd, time.Second))
	return nil
}

// lateAround delays what a server sends and receives.
func lateAround(w *world, rnd *rand.Rand, which func(stream, consumer int) int) error {
	stream, consumer, err := w.clusterLeaders()
	if err != nil {
		return err
	}
	i, late := which(stream, consumer), lateness(rnd)
	for j := range cluster.Size {
		if j != i {
			w.cluster.Late(i, j, late)
			w.cluster.Late(j, i, late)
			defer w.cluster.Late(i, j, 0)
			defer w.cluster.Late(j, i, 0)
		}
	}
	time.Sleep(500*time.Millisecond + upTo(rnd, 1500*time.Millisecond))
	return nil
}

// serverKilled kills a server of the cluster and starts it again.
func (w *world) serverKilled(rnd *rand.Rand, i int) error {
	w.cluster.Kill(i)
	time.Sleep(upTo(rnd, 1500*time.Millisecond))
	return w.cluster.Start(i)
}

// leadersDeposed makes the leaders of streams, of their consumer and of the
// lease step down, repeatedly.
func leadersDeposed(w *world, rnd *rand.Rand) error {
	streams := []string{event.StreamObservations, event.StreamCatalog, "KV_" + ingest.BucketLeases}
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		for _, s := range streams {
			_ = w.cluster.StepDown(ctx, w.conn(), s, "", -1)
		}
		_ = w.cluster.StepDown(ctx, w.conn(), event.StreamObservations, ingest.ProjectorConsumer(0, 1), -1)
		cancel()
		time.Sleep(300*time.Millisecond + upTo(rnd, 700*time.Millisecond))
	}
	return nil
}

// oldDisk starts a server on the files that it had a while ago. The others have
// everything: a cluster promises no more than that, because a majority must
// remember what it accepted.
func oldDisk(w *world, rnd *rand.Rand) error {
	i := rnd.IntN(cluster.Size)
	ctx := context.Background()
	if err := w.cluster.Whole(ctx); err != nil {
		return err
	}
	w.cluster.Kill(i)
	if err := w.cluster.Save(i); err != nil {
		return err
	}
	if err := w.cluster.Start(i); err != nil {
		return err
	}
	if err := w.cluster.Whole(ctx); err != nil {
		return err
	}
	time.Sleep(300*time.Millisecond + upTo(rnd, time.Second))
	if err := w.cluster.Whole(ctx); err != nil {
		return err
	}
	w.cluster.Kill(i)
	if err := w.cluster.Restore(i); err != nil {
		return err
	}
	if err := w.cluster.Start(i); err != nil {
		return err
	}
	return w.cluster.Whole(ctx) // before the next server fails
}

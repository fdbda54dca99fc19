package query

import (
	"context"
	"sync"

	"preismon/query/admission"
	"preismon/query/alert"
)

// The approximate memory of a page: its rows as JSON, twice where the buffer
// grows, and the blocks that they are read in.
const (
	pageBlocks    = 256 << 10
	pageRow       = 600
	pageRowExport = 1_200
)

func pageBytes(r ResultsRequest) int64 {
	limit, row := int64(DefaultLimit), int64(pageRow)
	if r.Limit != nil {
		limit = min(max(0, int64(*r.Limit)), MaxResultsLimit)
	}
	if r.Include.ExportFields {
		row = pageRowExport
	}
	rows := limit * row
	if r.AnswerBytes > 0 {
		rows = min(rows, 2*int64(r.AnswerBytes))
	}
	return pageBlocks + rows
}

// feedPage is the memory of a short page of a feed: equal feeds that read at
// the same time share their blocks.
const feedPage = 16 << 10

// feedBytes is the memory of a page of a feed.
func feedBytes(r FeedRequest, state *feedState, limit int) int64 {
	switch page := pageBytes(ResultsRequest{Limit: &limit, Include: state.Rows.Include}); {
	case r.Alerts && state.Rule.Kind == alert.NoObservation: // reads no past
		return page
	case r.Alerts:
		return page + alertBytes(limit)
	case r.AnswerBytes > 0:
		return min(page, feedPage+2*int64(r.AnswerBytes))
	default:
		return page
	}
}

// charge admits a read that holds so much memory until giveBack is called.
func (s *Service) charge(ctx context.Context, bytes int64) (_ *admission.Room, giveBack func(), err error) {
	read, err := s.node.Begin(ctx, false, 0)
	if err != nil {
		return nil, nil, err
	}
	room, err := read.Reserve(ctx, bytes)
	if err != nil {
		read.End()
		return nil, nil, err
	}
	return room, sync.OnceFunc(func() {
		room.Release()
		read.End()
	}), nil
}

// latestBytes is roughly the memory of the newest rows of as many pairs as one
// request may cover.
const latestBytes = 2 << 20

// The approximate memory of a list: its records as they are read, and the data
// for counting and enriching them.
const (
	listBytes   = 64 << 10
	recordBytes = 2 << 10
)

func listRoom(records int) int64 { return listBytes + int64(records)*recordBytes }

// chargeList admits the reading of so many records until giveBack is called.
func (s *Service) chargeList(ctx context.Context, records int) (giveBack func(), err error) {
	return s.Charge(ctx, listRoom(records))
}

// Hold charges a finished answer until it has been sent and giveBack is called.
// It does not wait for room, because the answer is already in memory.
func (s *Service) Hold(ctx context.Context, bytes int64) (giveBack func(), err error) {
	read, err := s.node.Begin(ctx, false, 0)
	if err != nil {
		return nil, err
	}
	room := read.Hold(bytes)
	return sync.OnceFunc(func() {
		room.Release()
		read.End()
	}), nil
}

// Charge admits something that holds so much memory until giveBack is called,
// such as a file that is held as a whole.
func (s *Service) Charge(ctx context.Context, bytes int64) (giveBack func(), err error) {
	_, giveBack, err = s.charge(ctx, bytes)
	return giveBack, err
}

package rest

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/zstd"

	"preismon/query"
	"preismon/query/accept"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/wire"
)

const (
	scopeHeader     = "X-Results-Scope"
	completeTrailer = "X-Results-Complete"
	returnedTrailer = returnedHeader

	// flushEvery is how long a row may wait in a buffer for others.
	flushEvery = 200 * time.Millisecond
)

func (a *api) stream(c *gin.Context, p query.Principal) error {
	req, err := wire.DecodeResults(paramsOf(c))
	if err != nil {
		return err
	}
	s, err := a.newTransfer(c, streamForms)
	if err != nil {
		return err
	}
	s.request, req.ChangesToken = req, s.changes
	if s.changes == nil { // its token belongs to rows of this moment
		s.condition = s.conditionOf(c.Request)
		req.Condition = s.condition
	}
	if done, err := a.unchanged(c, p, s, req); done || err != nil {
		return err
	}
	return a.heavy(func(c *gin.Context, p query.Principal) error {
		err := a.sendStream(c, s, func(to query.ResultsStream) error { return a.service.StreamResults(c.Request.Context(), p, req, to) })
		if err != nil {
			a.offer(c, p, req, err)
		}
		return err
	})(c, p)
}

// newTransfer prepares the answer of a stream in the form that is requested.
func (a *api) newTransfer(c *gin.Context, forms []*form) (*transfer, error) {
	c.Writer.Header().Add("Vary", "Accept")
	c.Writer.Header().Add("Vary", "Accept-Encoding")
	if !c.Request.ProtoAtLeast(1, 1) {
		// The end of such an answer is the end of its connection, so a broken
		// stream would look complete. Proxies do this by default.
		return nil, badRequest("The stream needs HTTP/1.1 or later, also between proxies.")
	}
	s := &transfer{w: c.Writer, good: exchangeOf(c.Request).hold.Err, work: a.service.Admission().Work, form: formOf(c.Request.Header.Values("Accept"), forms)}
	switch prefer := c.Request.Header.Values("Prefer"); {
	case wire.Prefers(prefer, wire.PreferChangesToken):
		s.changes = new(string)
		c.Writer.Header().Set("Preference-Applied", wire.PreferChangesToken)
	case wire.Prefers(prefer, wire.PreferNoTrailers):
		s.bare = true
		c.Writer.Header().Set("Preference-Applied", wire.PreferNoTrailers)
	}
	if !s.form.dense {
		s.coding = accept.Coding(c.Request.Header.Values("Accept-Encoding"), "zstd", "gzip")
	}
	return s, nil
}

// sendStream sends what a read returns. An error that it returns has not been
// sent yet.
func (a *api) sendStream(c *gin.Context, s *transfer, read func(query.ResultsStream) error) error {
	defer s.discard()
	var to query.ResultsStream = s
	if s.form.write != nil {
		to = tableTransfer{s}
	}
	err := read(to)
	if err == nil {
		err = s.finish()
	}
	switch {
	case err == nil:
		return nil
	case !s.started:
		return err
	}
	s.discard()
	if c.Request.Context().Err() == nil && !errors.Is(err, errSlow) {
		a.logFailure(c.Request, slog.LevelWarn, err)
	}
	panic(http.ErrAbortHandler)
}

// encoder is a compressor that can flush what it holds.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// encoders are each used by one request at a time. The window of zstd stays far
// below the 8 MiB that every client must accept (RFC 9659): an encoder holds
// twice its window for as long as the transfer to its client lasts.
var encoders = map[string]*sync.Pool{
	"gzip": {New: func() any {
		e, err := newSplicer()
		if err != nil {
			panic(err)
		}
		return e
	}},
	"zstd": {New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic(err)
		}
		return e
	}},
}

// transfer is the answer of a stream. It sends the first rows at once and then
// whatever there is at intervals, on a timer, so that rows never wait for a
// buffer to fill. Unless finish was called, nothing ends properly: neither the
// table, nor the compressed data, nor, once the handler panics, the transfer.
type transfer struct {
	w       gin.ResponseWriter
	form    *form
	request query.ResultsRequest // of a table
	first   []byte               // a line before the rows
	work    func(func() error) error
	coding  string       // gzip, zstd, or none
	good    func() error // whether anything may be sent
	started bool
	changes *string // the token for continuing with the feed; nil: none was requested

	condition *query.Condition // nil: none
	bare      bool             // without trailers: only the last chunk proves that it is complete

	mu      sync.Mutex // the timer flushes concurrently with the handler
	enc     encoder
	table   table.Sections // nil: lines are sent as they are
	built   bytes.Buffer   // of the table
	out     bytes.Buffer   // compressed and not yet sent
	rows    int64
	held    bool // something has not been flushed
	flushed time.Time
	timer   *time.Timer
	over    bool
	err     error
}

// What an encoder holds, as TestEncodersHoldWhatIsCharged measures it, and what
// it has written.
const (
	codingBytes = 1100 << 10
	outBytes    = 64 << 10
)

// Holds implements query.ResultsStream.
func (s *transfer) Holds() int64 {
	holds := s.form.holds + int64(len(s.first))
	if s.coding != "" {
		holds += codingBytes
	}
	if holds > 0 {
		holds += outBytes
	}
	return holds
}

// Start sends the header.
func (s *transfer) Start(scope string) error {
	if s.started {
		return errors.New("stream started twice")
	}
	if err := s.good(); err != nil {
		return err
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", s.form.typed)
	h.Set(scopeHeader, scope)
	if !s.bare {
		trailers := completeTrailer + ", " + returnedTrailer
		if s.changes != nil {
			trailers += ", " + changesTokenHeader
		}
		h.Set("Trailer", trailers)
	}
	s.setTag()
	if s.coding != "" {
		h.Set("Content-Encoding", s.coding)
		s.enc = encoders[s.coding].Get().(encoder)
		s.enc.Reset(&s.out)
	}
	if s.form.write != nil {
		s.table = s.form.write(&s.built, s.form.columns(query.Columns(s.request.Include.Fields())), table.SortingOf(s.request.Sort != "asc"))
	}
	s.w.WriteHeader(http.StatusOK)
	s.w.WriteHeaderNow()
	if s.first == nil {
		return nil
	}
	return s.Send(s.first, 0)
}

// Send sends text: whole lines, or bytes of a table.
func (s *transfer) Send(text []byte, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(text)
	return s.sent(rows)
}

func (s *transfer) write(text []byte) {
	switch {
	case s.err != nil || len(text) == 0:
	case s.enc != nil:
		s.err = s.make(func() error { _, err := s.enc.Write(text); return err })
	default:
		_, s.err = s.w.Write(text)
	}
}

// Deflates implements query.DeflatedStream.
func (s *transfer) Deflates() bool { return s.coding == "gzip" }

// Deflated sends text that was compressed before.
func (s *transfer) Deflated(text []query.Deflated, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range text {
		if s.err == nil {
			s.err = s.enc.(*splicer).splice(&text[i])
		}
	}
	if s.err == nil {
		s.err = s.push()
	}
	return s.sent(rows)
}

// sent counts rows and makes sure that they are flushed.
func (s *transfer) sent(rows int) error {
	if s.err != nil {
		return s.err
	}
	s.rows += int64(rows)
	s.held = true
	if since := time.Since(s.flushed); since >= flushEvery {
		s.flush()
	} else if s.timer == nil {
		s.timer = time.AfterFunc(flushEvery-since, s.tick)
	}
	return s.err
}

// tableTransfer is a transfer of a table.
type tableTransfer struct{ *transfer }

// Flat implements query.TableStream.
func (s tableTransfer) Flat() bool { return s.form.flat }

// Form implements query.TableStream.
func (s tableTransfer) Form() string { return s.form.typed }

// Coarse implements query.TableStream: each section in columns describes them.
func (s tableTransfer) Coarse() bool { return !s.form.flat }

// Encode implements query.TableStream.
func (s tableTransfer) Encode(rows *frame.Batch) ([]byte, error) {
	s.built.Reset()
	err := s.table.Write(rows)
	return s.built.Bytes(), err
}

// Cut implements query.TableStream.
func (s tableTransfer) Cut() (end, section []byte, err error) {
	s.built.Reset()
	section, err = s.table.Cut()
	return s.built.Bytes(), section, err
}

// Splice implements query.TableStream.
func (s tableTransfer) Splice(section []byte) ([]byte, error) {
	s.built.Reset()
	err := s.table.Splice(section)
	return s.built.Bytes(), err
}

// push sends what was compressed.
func (s *transfer) push() error {
	if s.out.Len() == 0 {
		return nil
	}
	_, err := s.w.Write(s.out.Bytes())
	s.out.Reset()
	return err
}

// make compresses when a processor is free, and sends the output afterwards: a
// slow client keeps no other stream waiting.
func (s *transfer) make(work func() error) error {
	if err := s.work(work); err != nil {
		return err
	}
	return s.push()
}

func (s *transfer) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if s.held && !s.over && s.err == nil {
		s.flush()
	}
}

func (s *transfer) flush() {
	s.held, s.flushed = false, time.Now()
	if s.enc != nil {
		if s.err = s.make(s.enc.Flush); s.err != nil {
			return
		}
	}
	s.w.Flush()
}

// finish ends a complete stream, and marks it as complete.
func (s *transfer) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.started:
		return errors.New("stream ended before it started")
	case s.err != nil:
		return s.err
	}
	if s.err = s.good(); s.err != nil {
		return s.err
	}
	s.over = true
	if s.table != nil {
		s.built.Reset()
		if s.err = s.work(s.table.Close); s.err == nil {
			s.write(s.built.Bytes())
		}
		if s.err != nil {
			return s.err
		}
	}
	if s.enc != nil {
		if s.err = s.make(s.enc.Close); s.err != nil {
			return s.err
		}
	}
	if s.bare {
		return nil
	}
	h := s.w.Header()
	h.Set(completeTrailer, "true")
	h.Set(returnedTrailer, strconv.FormatInt(s.rows, 10))
	if s.changes != nil {
		h.Set(changesTokenHeader, *s.changes)
	}
	return nil
}

// discard releases the encoder without ending what it wrote.
func (s *transfer) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.enc != nil {
		s.enc.Reset(io.Discard)
		encoders[s.coding].Put(s.enc)
		s.enc = nil
	}
}

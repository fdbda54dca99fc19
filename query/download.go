package query

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query/admission"
)

// Artifact identifies the content of one archived file and records its expected
// size and hash.
type Artifact struct {
	FilesOf
	Mandate   contracts.MandateID
	Archive   contracts.ArchiveID
	File      int // its place in the archive document
	SizeBytes int64
	SHA256    string // 64 lower-case hex digits
}

// Archive is a place where the content of archived files is kept.
type Archive interface {
	// Open reads an artifact from a byte offset to its end. A content of
	// another size is an error at once; one that differs in another way is an
	// error before its last byte if it is read from byte 0. Missing content is
	// a NotFound fault; an archive that cannot be used now is an Unavailable
	// one. Reading ends with ctx.
	Open(ctx context.Context, a Artifact, offset int64) (io.ReadCloser, error)
}

// Download is an artifact that may be read.
type Download struct {
	FileEntry
	archives []Archive
	verified verified
	stats    *stats
	node     *admission.Node
}

// Download finds the one archived file to send: the only match, or the newest
// one with Latest (HIST-04). Its content is read with Open.
func (s *Service) Download(ctx context.Context, p Principal, r HistoryRequest) (*Download, error) {
	entry, err := s.oneFile(ctx, p, r, true)
	if err != nil {
		return nil, err
	}
	if most := s.cfg.MaxDownloadBytes; entry.SizeBytes > most { // HIST-05
		return nil, &fault.Error{
			Kind: fault.TooLarge, Code: CodePayloadTooLarge, Msg: "The archived file is too large to be downloaded.",
			ActualBytes: entry.SizeBytes, MaxBytes: most,
		}
	}
	return &Download{*entry, s.archives, s.verified, &s.stats, s.node}, nil
}

// Open reads the content from a byte offset, from the first archive with a good
// copy. Every byte returned was first verified against the catalogue's hash, or
// against fingerprints of a copy that was. A damaged copy is skipped for
// another; without a good one, Open or a later Read fails. The content holds at
// most DownloadBuffer bytes until Close, and is charged for them.
func (d *Download) Open(ctx context.Context, offset int64) (content io.ReadCloser, err error) {
	read, err := d.node.Begin(ctx, false, min(d.SizeBytes, DownloadBuffer))
	if err != nil {
		return nil, err
	}
	if d.SizeBytes <= DownloadBuffer {
		content, err = d.openWhole(ctx, offset)
	} else {
		content, err = d.openChunks(ctx, offset)
	}
	if err != nil {
		read.End()
		return nil, err
	}
	d.stats.found.Add(1)
	return &charged{content, sync.OnceFunc(read.End)}, nil
}

// charged is a content whose admission ends when it is closed.
type charged struct {
	io.ReadCloser
	giveBack func()
}

func (c *charged) Close() error {
	defer c.giveBack()
	return c.ReadCloser.Close()
}

// Exists checks that an archive has the content, in the size that the catalogue
// records, without reading it.
func (d *Download) Exists(ctx context.Context) error {
	return d.first(ctx, func(a Archive) error {
		content, err := a.Open(ctx, d.Artifact, 0)
		if err != nil {
			return err
		}
		return content.Close()
	})
}

// archiveRetry is when to try an unavailable archive again.
const archiveRetry = 5 * time.Second

// first calls do with each archive until it succeeds. The content counts as
// missing only when every archive reports that (HIST-06): an unavailable
// archive may hold it.
func (d *Download) first(ctx context.Context, do func(Archive) error) error {
	var away, damaged []error
	for _, archive := range d.archives {
		err := do(archive)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case fault.KindOf(err) == fault.NotFound:
		case fault.KindOf(err) == fault.Unavailable:
			away = append(away, err)
		default:
			d.stats.damaged.Add(1)
			damaged = append(damaged, err)
		}
	}
	switch {
	case away != nil:
		d.stats.away.Add(1)
		return &fault.Error{
			Kind: fault.Unavailable, Msg: "The archive is not available now.", Err: errors.Join(append(away, damaged...)...), RetryAfter: archiveRetry,
		}
	case damaged != nil:
		return &fault.Error{Kind: fault.Internal, Err: errors.Join(damaged...)}
	}
	d.stats.missing.Add(1)
	return fault.New(fault.Conflict, CodeContentMissing, "The file is in the catalogue, but its content is in none of the archives.")
}

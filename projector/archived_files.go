package projector

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"preismon/contracts"
)

// ArchivedFile is a file of the catalogue: where its content is stored, and
// what that content must be.
type ArchivedFile struct {
	Mandate   contracts.MandateID
	Import    bool // otherwise of an export
	Order     contracts.OrderID
	Archive   contracts.ArchiveID
	File      int // its place in the archive document
	Filename  string
	SizeBytes int64
	SHA256    string
}

// ArchivedFiles reads the files recorded in the tables, for an audit of their
// contents.
type ArchivedFiles struct {
	Conn             Conn
	StatementTimeout time.Duration
}

// archivedFilesPage is how many are read at once.
const archivedFilesPage = 1000

// Total returns the number of files and their total size in bytes.
func (a ArchivedFiles) Total(ctx context.Context) (files, bytes uint64, err error) {
	var n, size proto.ColUInt64
	err = a.read(ctx, "archived_files_total", nil, proto.Results{{Name: "n", Data: &n}, {Name: "bytes", Data: &size}}, func() {
		for i := range n {
			files, bytes = n[i], size[i]
		}
	})
	return files, bytes, err
}

// All returns the files by mandate, direction, order, archive and place. It
// holds no connection while the caller processes them.
func (a ArchivedFiles) All(ctx context.Context) iter.Seq2[ArchivedFile, error] {
	return func(yield func(ArchivedFile, error) bool) {
		var last ArchivedFile
		for {
			page, err := a.page(ctx, last)
			if err != nil {
				yield(ArchivedFile{}, err)
				return
			}
			for _, last = range page {
				if !yield(last, nil) {
					return
				}
			}
			if len(page) < archivedFilesPage {
				return
			}
		}
	}
}

// page returns the files that follow after; the zero value: from the first.
func (a ArchivedFiles) page(ctx context.Context, after ArchivedFile) (page []ArchivedFile, err error) {
	var (
		mandate, order, archive, file proto.ColUInt64
		direction                     proto.ColUInt8
		filename, hash                proto.ColStr
		size                          proto.ColInt64
	)
	behind := args{
		"mandate": uint64(after.Mandate), "direction": directionExport, "order_id": uint64(after.Order), "archive": uint64(after.Archive), "file": after.File,
		"limit": archivedFilesPage,
	}
	if after.Import {
		behind["direction"] = directionImport
	}
	err = a.read(ctx, "archived_files", behind, proto.Results{
		{Name: "mandate", Data: &mandate},
		{Name: "direction", Data: &direction},
		{Name: "order_id", Data: &order},
		{Name: "archive", Data: &archive},
		{Name: "file", Data: &file},
		{Name: "filename", Data: &filename},
		{Name: "size", Data: &size},
		{Name: "hash", Data: &hash},
	}, func() {
		for i := range mandate {
			page = append(page, ArchivedFile{
				Mandate: contracts.MandateID(mandate[i]), Import: direction[i] == directionImport, Order: contracts.OrderID(order[i]),
				Archive: contracts.ArchiveID(archive[i]), File: int(file[i]), Filename: filename.Row(i), SizeBytes: size[i], SHA256: hash.Row(i),
			})
		}
	})
	return page, err
}

func (a ArchivedFiles) read(ctx context.Context, name string, values args, out proto.Results, block func()) error {
	ctx, cancel := context.WithTimeout(ctx, a.StatementTimeout)
	defer cancel()
	err := a.Conn.Do(ctx, ch.Query{
		Body: question(name), Parameters: ch.Parameters(values), Settings: auditSettings, Result: out, OnResult: each(block),
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

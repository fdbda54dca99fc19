package projector

import (
	"context"
	"iter"
	"time"

	"github.com/ClickHouse/ch-go"

	"preismon/contracts"
	"preismon/projector/clickhouse"
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
	err = a.read(ctx, "archived_files_total", nil, clickhouse.Row{"n": &files, "bytes": &bytes}, nil)
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
		mandate, order, archive, file uint64
		direction                     uint8
		filename, hash                string
		size                          int64
	)
	behind := args{
		"mandate": uint64(after.Mandate), "direction": directionExport, "order_id": uint64(after.Order), "archive": uint64(after.Archive), "file": after.File,
		"limit": archivedFilesPage,
	}
	if after.Import {
		behind["direction"] = directionImport
	}
	err = a.read(ctx, "archived_files", behind, clickhouse.Row{
		"mandate": &mandate, "direction": &direction, "order_id": &order, "archive": &archive, "file": &file,
		"filename": &filename, "size": &size, "hash": &hash,
	}, func() {
		page = append(page, ArchivedFile{
			Mandate: contracts.MandateID(mandate), Import: direction == directionImport, Order: contracts.OrderID(order),
			Archive: contracts.ArchiveID(archive), File: int(file), Filename: filename, SizeBytes: size, SHA256: hash,
		})
	})
	return page, err
}

func (a ArchivedFiles) read(ctx context.Context, name string, values args, row clickhouse.Row, each func()) error {
	ctx, cancel := context.WithTimeout(ctx, a.StatementTimeout)
	defer cancel()
	return ask(ctx, a.Conn, name, ch.Query{Body: question(name), Parameters: ch.Parameters(values), Settings: auditSettings}, row, each)
}

// Package table writes batches of results as tables: CSV, an Arrow stream, or a
// Parquet file. The server writes its answers with it and the client its
// exports, so that the same rows are the same table on both sides.
//
// Every row has everything that its JSON has, under the same names. A group of
// fields that was not requested has no columns. Null and absent are
// distinguished by column: an empty cell of an Optional column is an absent
// field, and one of any other column is null.
//
// A table is complete only with its end: an Arrow stream has a mark, a Parquet
// file its footer, and CSV has none, so the sender of CSV must prove its end in
// another way.
package table

import "preismon/query/frame"

// Writer writes the rows of one table. It must be used by one goroutine at a
// time.
type Writer interface {
	// Write writes rows and keeps nothing of the batch. Parquet holds them
	// until a row group is complete. After an error the table is of no use.
	Write(rows *frame.Batch) error
	// Close writes the end of the table. A table that is not complete must be
	// left without it.
	Close() error
}

// Sections is a Writer of a table that is cut into sections, each of which can
// also be a part of another table of the same columns and options.
type Sections interface {
	Writer
	// Cut writes what is held, and ends a section: what is written later refers
	// to nothing before it. The first thing written to a table, which every
	// table begins with, belongs to no section. Cut returns a description of the
	// section for Splice; it may be empty.
	Cut() (section []byte, err error)
	// Splice adds a section that was cut from another table. Only its
	// description is needed: its bytes must be sent after everything that was
	// written until then. The section in progress must have been cut before.
	Splice(section []byte) error
}

// absentKey is in the metadata of an Arrow field whose nulls are absent fields,
// and in that of a Parquet file, with the names of such columns.
const absentKey = "preismon:absent"

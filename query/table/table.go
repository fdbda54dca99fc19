// Package table writes batches of results as tables: CSV, an Arrow stream, or
// a Parquet file. The server writes its answers with it and the client its
// exports, so that the same rows are the same table on either.
//
// Every row has all that its JSON has, under the same names. A group of fields
// that was not asked for has no columns. Null and absent stay apart by column:
// an empty cell of an Optional column is an absent field, and one of any other
// column is null.
//
// A table is whole only with its end: an Arrow stream has a mark, a Parquet
// file its footer, and CSV has none, so whoever sends it must prove its end.
package table

import "preismon/query/frame"

// Writer writes the rows of one table. It is for one goroutine.
type Writer interface {
	// Write takes rows, of which nothing is kept. It writes them, but for Parquet,
	// which holds a row group. After an error the table is of no use.
	Write(rows *frame.Batch) error
	// Close ends the table and says so. A table that is not complete is left
	// without it.
	Close() error
}

// absentKey stands in the metadata of an Arrow field in which null is an absent
// field, and in that of a Parquet file before the names of such columns.
const absentKey = "preismon:absent"

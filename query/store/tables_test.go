package store_test

import (
	"bytes"
	"io"
	"time"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
	"preismon/query/table/tabletest"
)

// tableForm is one of the forms of a table, with what reads it back.
type tableForm struct {
	name         string
	flat, coarse bool // see query.TableStream
	write        func(w io.Writer, columns []frame.Column, sorted table.Sorting) table.Sections
	read         func(table []byte, include query.Include) ([]tabletest.Record, error)
}

func arrowForm(o table.ArrowOptions) tableForm {
	return tableForm{
		name: "arrow" + o.Compression, coarse: true,
		write: func(w io.Writer, columns []frame.Column, _ table.Sorting) table.Sections {
			return table.Arrow(w, columns, o)
		},
		read: func(b []byte, _ query.Include) ([]tabletest.Record, error) { return tabletest.Arrow(b, time.UTC) },
	}
}

// tableForms are the forms that are written in different ways.
var tableForms = []tableForm{
	{
		name: "csv", flat: true,
		write: func(w io.Writer, columns []frame.Column, _ table.Sorting) table.Sections {
			return table.CSV(w, columns)
		},
		read: func(b []byte, include query.Include) ([]tabletest.Record, error) {
			return tabletest.CSV(b, include.Fields())
		},
	},
	arrowForm(table.ArrowOptions{}),
	arrowForm(table.ArrowOptions{Dictionaries: true, Compression: "lz4"}),
	{
		name: "parquet", coarse: true,
		write: func(w io.Writer, columns []frame.Column, sorted table.Sorting) table.Sections {
			return table.Parquet(w, columns, sorted)
		},
		read: func(b []byte, _ query.Include) ([]tabletest.Record, error) { return tabletest.Parquet(b, time.UTC) },
	},
}

// tabled collects a stream of results as a table.
type tabled struct {
	starts, rows int

	of      tableForm
	include query.Include
	table   table.Sections
	built   bytes.Buffer
	sent    bytes.Buffer
}

// collect returns a stream in this form.
func (f tableForm) collect(include query.Include, sorted table.Sorting) *tabled {
	s := &tabled{of: f, include: include}
	columns := query.Columns(include.Fields())
	if f.flat {
		columns = query.Flat(columns)
	}
	s.table = f.write(&s.built, columns, sorted)
	return s
}

// Holds implements query.TableStream, as do the others up to Splice.
func (s *tabled) Holds() int64 { return 0 }

func (s *tabled) Start(string) error {
	s.starts++
	return nil
}

func (s *tabled) Send(text []byte, rows int) error {
	s.rows += rows
	s.sent.Write(text)
	return nil
}

func (s *tabled) Form() string { return s.of.name }

func (s *tabled) Flat() bool { return s.of.flat }

func (s *tabled) Coarse() bool { return s.of.coarse }

func (s *tabled) Encode(rows *frame.Batch) ([]byte, error) {
	s.built.Reset()
	err := s.table.Write(rows)
	return s.built.Bytes(), err
}

func (s *tabled) Cut() (end, section []byte, err error) {
	s.built.Reset()
	section, err = s.table.Cut()
	return s.built.Bytes(), section, err
}

func (s *tabled) Splice(section []byte) ([]byte, error) {
	s.built.Reset()
	err := s.table.Splice(section)
	return s.built.Bytes(), err
}

// records ends the table and reads it back.
func (s *tabled) records() ([]tabletest.Record, error) {
	s.built.Reset()
	if err := s.table.Close(); err != nil {
		return nil, err
	}
	s.sent.Write(s.built.Bytes())
	return s.of.read(s.sent.Bytes(), s.include)
}

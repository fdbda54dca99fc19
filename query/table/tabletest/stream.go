package tabletest

import (
	"bytes"
	"io"
	"time"

	"preismon/query"
	"preismon/query/frame"
	"preismon/query/table"
)

// Form is one of the forms of a table, with what reads it back.
type Form struct {
	Name         string
	Flat, Coarse bool // see query.TableStream
	Write        func(w io.Writer, columns []frame.Column, sorted table.Sorting) table.Sections
	Read         func(table []byte, include query.Include, zone *time.Location) ([]Record, error)
}

func arrowForm(o table.ArrowOptions) Form {
	return Form{
		Name: "arrow" + o.Compression,
		Write: func(w io.Writer, columns []frame.Column, _ table.Sorting) table.Sections {
			return table.Arrow(w, columns, o)
		},
		Read: func(b []byte, _ query.Include, zone *time.Location) ([]Record, error) { return Arrow(b, zone) },
	}
}

// Forms are the forms that are written in different ways.
var Forms = []Form{
	{
		Name: "csv", Flat: true,
		Write: func(w io.Writer, columns []frame.Column, _ table.Sorting) table.Sections {
			return table.CSV(w, columns)
		},
		Read: func(b []byte, include query.Include, _ *time.Location) ([]Record, error) {
			return CSV(b, include.Fields())
		},
	},
	arrowForm(table.ArrowOptions{}),
	arrowForm(table.ArrowOptions{Dictionaries: true, Compression: "lz4"}),
	{
		Name: "parquet", Coarse: true,
		Write: func(w io.Writer, columns []frame.Column, sorted table.Sorting) table.Sections {
			return table.Parquet(w, columns, sorted)
		},
		Read: func(b []byte, _ query.Include, zone *time.Location) ([]Record, error) { return Parquet(b, zone) },
	},
}

// Stream collects a stream of results as a table.
type Stream struct {
	Scope  string
	Starts int
	Rows   int

	of      Form
	include query.Include
	table   table.Sections
	built   bytes.Buffer
	sent    bytes.Buffer
}

// Stream returns a stream in this form.
func (f Form) Stream(include query.Include, sorted table.Sorting) *Stream {
	s := &Stream{of: f, include: include}
	columns := query.Columns(include.Fields())
	if f.Flat {
		columns = query.Flat(columns)
	}
	s.table = f.Write(&s.built, columns, sorted)
	return s
}

// Holds implements query.TableStream, as do all methods up to Splice.
func (s *Stream) Holds() int64 { return 0 }

// Start notes the scope.
func (s *Stream) Start(scope string) error {
	s.Starts++
	s.Scope = scope
	return nil
}

// Send collects bytes of the table.
func (s *Stream) Send(text []byte, rows int) error {
	s.Rows += rows
	s.sent.Write(text)
	return nil
}

// Form is the form's name.
func (s *Stream) Form() string { return s.of.Name }

// Flat is that of the form.
func (s *Stream) Flat() bool { return s.of.Flat }

// Coarse is that of the form.
func (s *Stream) Coarse() bool { return s.of.Coarse }

// Encode writes rows to the table.
func (s *Stream) Encode(rows *frame.Batch) ([]byte, error) {
	s.built.Reset()
	err := s.table.Write(rows)
	return s.built.Bytes(), err
}

// Cut cuts the table.
func (s *Stream) Cut() (end, section []byte, err error) {
	s.built.Reset()
	section, err = s.table.Cut()
	return s.built.Bytes(), section, err
}

// Splice adds a section to the table.
func (s *Stream) Splice(section []byte) ([]byte, error) {
	s.built.Reset()
	err := s.table.Splice(section)
	return s.built.Bytes(), err
}

// Table ends the table and returns it.
func (s *Stream) Table() ([]byte, error) {
	s.built.Reset()
	err := s.table.Close()
	s.sent.Write(s.built.Bytes())
	return s.sent.Bytes(), err
}

// Records ends the table and reads it back.
func (s *Stream) Records(zone *time.Location) ([]Record, error) {
	all, err := s.Table()
	if err != nil {
		return nil, err
	}
	return s.of.Read(all, s.include, zone)
}

package table

import (
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows is how many rows a record batch of Arrow has at most.
const batchRows = 8192

// absentKey stands in the metadata of an Arrow field in which null is an absent
// field, and in that of a Parquet file before the names of such columns.
const absentKey = "preismon:absent"

// Arrow writes rows as a stream of Arrow record batches (the IPC streaming
// format), of at most 8,192 rows. A row with a field that is no column, or
// without one that cannot be absent, is an error.
func Arrow(w io.Writer, columns []Column) Writer {
	a := &batches{columns: columns, row: shapeOf(names(columns), false)}
	schema := arrow.NewSchema(arrowFields(columns, false), nil)
	a.out = ipc.NewWriter(w, ipc.WithSchema(schema))
	a.rows = array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range columns {
		a.columnsTo = append(a.columnsTo, arrowColumnOf(&columns[i], a.rows.Field(i)))
	}
	a.take = a.add
	return a
}

// arrowFields are the fields of columns, or of the members of an object that can
// be empty: then they are null, so that a reader who knows no null of objects
// does not take what lies below one for values.
func arrowFields(columns []Column, ofEmpty bool) (all []arrow.Field) {
	for i := range columns {
		c := &columns[i]
		f := arrow.Field{Name: c.Name, Type: arrowType(c), Nullable: ofEmpty || c.empty()}
		if c.Optional {
			f.Metadata = arrow.MetadataFrom(map[string]string{absentKey: "null"})
		}
		all = append(all, f)
	}
	return all
}

func arrowType(c *Column) arrow.DataType {
	switch c.Kind {
	case Number:
		return arrow.PrimitiveTypes.Float64
	case Integer:
		return arrow.PrimitiveTypes.Int64
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Instant:
		return &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	case List:
		return arrow.ListOfField(arrowFields(c.Members, false)[0])
	case Object:
		return arrow.StructOf(arrowFields(c.Members, c.empty())...)
	case Words:
		return arrow.MapOfFields(arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}, arrow.Field{Name: "value", Type: arrow.BinaryTypes.String})
	}
	return arrow.BinaryTypes.String // Text, JSON
}

type batches struct {
	out       *ipc.Writer
	columns   []Column
	row       *shape
	take      func() error
	rows      *array.RecordBuilder
	columnsTo []*arrowColumn
	held      int
}

func (a *batches) Write(rows []byte) error { return a.row.rows(rows, a.take) }

func (a *batches) add() error {
	for i, c := range a.columnsTo {
		if err := c.append(a.row.cells[i]); err != nil {
			return err
		}
	}
	if a.held++; a.held == batchRows {
		return a.Flush()
	}
	return nil
}

func (a *batches) Flush() error {
	if a.held == 0 {
		return nil
	}
	a.held = 0
	batch := a.rows.NewRecordBatch()
	defer batch.Release()
	return a.out.Write(batch)
}

// Close writes the last rows and the mark of the end; also of no rows at all,
// after their schema.
func (a *batches) Close() error {
	if err := a.Flush(); err != nil {
		return err
	}
	return a.out.Close()
}

// arrowColumn appends values to a column, and to those within it.
type arrowColumn struct {
	*Column
	to      array.Builder
	members []*arrowColumn
	object  *shape // of an object
	each    func(name, value []byte) error
	room    []byte
}

func arrowColumnOf(c *Column, to array.Builder) *arrowColumn {
	a := &arrowColumn{Column: c, to: to}
	switch to := to.(type) {
	case *array.ListBuilder:
		a.members = []*arrowColumn{arrowColumnOf(&c.Members[0], to.ValueBuilder())}
		a.each = func(_, value []byte) error { return a.members[0].append(value) }
	case *array.StructBuilder:
		a.object = shapeOf(names(c.Members), false)
		for i := range c.Members {
			a.members = append(a.members, arrowColumnOf(&c.Members[i], to.FieldBuilder(i)))
		}
	case *array.MapBuilder:
		key, word := text("key"), text("value")
		a.members = []*arrowColumn{arrowColumnOf(&key, to.KeyBuilder()), arrowColumnOf(&word, to.ItemBuilder())}
		a.each = func(name, value []byte) error {
			if err := a.members[0].append(name); err != nil {
				return err
			}
			return a.members[1].append(value)
		}
	}
	return a
}

func (a *arrowColumn) append(value []byte) (err error) {
	if isNull(value) {
		if !a.empty() {
			return missing(a.Column)
		}
		a.to.AppendNull() // of an object, of its members too
		return nil
	}
	switch to := a.to.(type) {
	case *array.StringBuilder:
		var text []byte
		if text, a.room, err = a.textOf(value, a.room[:0]); err != nil {
			return err
		}
		to.BinaryBuilder.Append(text)
	case *array.Float64Builder:
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return unfit(a.Column, value)
		}
		to.Append(n)
	case *array.Int64Builder:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return unfit(a.Column, value)
		}
		to.Append(n)
	case *array.BooleanBuilder:
		to.Append(value[0] == 't')
	case *array.TimestampBuilder:
		ms, err := a.instantOf(value)
		if err != nil {
			return err
		}
		to.Append(arrow.Timestamp(ms))
	case *array.ListBuilder:
		to.Append(true)
		_, err = items(value, a.each)
	case *array.MapBuilder:
		to.Append(true)
		_, err = items(value, a.each)
	case *array.StructBuilder:
		to.Append(true)
		if _, err = a.object.read(value); err != nil {
			return err
		}
		for i, m := range a.members {
			if err := m.append(a.object.cells[i]); err != nil {
				return err
			}
		}
	}
	return err
}

// textOf gives the text of a value: of Text what it says, of JSON itself. It
// may lie in the room.
func (c *Column) textOf(value, room []byte) (text, left []byte, err error) {
	if c.Kind == JSON {
		text, err = compact(value)
		return text, room, err
	}
	if value[0] != '"' {
		return nil, room, unfit(c, value)
	}
	return unquote(value, room)
}

func (c *Column) instantOf(value []byte) (int64, error) {
	if len(value) >= 2 && value[0] == '"' {
		if ms, ok := instant(value[1 : len(value)-1]); ok {
			return ms, nil
		}
	}
	return 0, unfit(c, value)
}

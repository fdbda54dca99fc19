package table

import (
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	// groupBytes is how much JSON a row group holds: the memory of a writer is a
	// part of that, and of pageBytes for each column.
	groupBytes = 32 << 20
	pageBytes  = 64 << 10
	// dictionaryBytes is the size up to which a column has a dictionary.
	dictionaryBytes = 1 << 20
)

// Parquet writes rows as a Parquet file, compressed with zstd, a row group for
// every 32 MiB of their JSON. A row with a field that is no column, or without
// one that cannot be absent, is an error.
func Parquet(w io.Writer, columns []Column) Writer {
	p := &groups{row: shapeOf(names(columns), false)}
	var absent []string
	for i := range columns {
		p.columns = append(p.columns, p.columnOf(&columns[i], 0))
		if columns[i].Optional {
			absent = append(absent, columns[i].Name)
		}
	}
	options := []parquet.WriterOption{
		parquet.NewSchema("results", ordered(columns)),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.PageBufferSize(pageBytes),
		parquet.CreatedBy("preismon", "", ""),
	}
	if len(absent) > 0 {
		options = append(options, parquet.KeyValueMetadata(absentKey, strings.Join(absent, ",")))
	}
	p.out = parquet.NewGenericWriter[any](w, options...)
	p.take = p.add
	return p
}

// ordered is a group whose fields stay in their order.
func ordered(columns []Column) parquet.Node {
	g := group{Group: parquet.Group{}}
	for i := range columns {
		node := parquetNode(&columns[i])
		if columns[i].empty() {
			node = parquet.Optional(node)
		}
		g.Group[columns[i].Name] = node
		g.fields = append(g.fields, field{node, columns[i].Name})
	}
	return g
}

type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g group) Fields() []parquet.Field { return g.fields }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

// Value is for values of Go types, which are never written here.
func (f field) Value(reflect.Value) reflect.Value { panic("parquet: no Go value") }

func parquetNode(c *Column) parquet.Node {
	switch c.Kind {
	case Number:
		return parquet.Leaf(parquet.DoubleType)
	case Integer:
		return parquet.Int(64)
	case Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case Instant:
		return parquet.Timestamp(parquet.Millisecond)
	case List:
		return parquet.List(parquetNode(&c.Members[0]))
	case Object:
		return ordered(c.Members)
	case Words:
		return parquet.Map(words(), words())
	}
	return words() // Text, JSON
}

func words() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }

type groups struct {
	out     *parquet.GenericWriter[any]
	columns []*parquetColumn
	row     *shape
	take    func() error
	leaves  [][]parquet.Value
	room    []byte // of texts of the rows being written
	bytes   int
}

// Write puts the values of the rows into the columns, for they may lie in what
// it was given.
func (p *groups) Write(rows []byte) error {
	if err := p.row.rows(rows, p.take); err != nil {
		return err
	}
	for i, to := range p.out.ColumnWriters() {
		if _, err := to.WriteRowValues(p.leaves[i]); err != nil {
			return err
		}
		p.leaves[i] = p.leaves[i][:0]
	}
	p.room = p.room[:0]
	if p.bytes += len(rows); p.bytes >= groupBytes {
		p.bytes = 0
		return p.out.Flush()
	}
	return nil
}

func (p *groups) add() error {
	for i, c := range p.columns {
		if err := p.put(c, p.row.cells[i], 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes nothing: small row groups are what Parquet is bad at.
func (p *groups) Flush() error { return nil }

// Close writes the last row group and the footer.
func (p *groups) Close() error { return p.out.Close() }

// parquetColumn is where the values of a column go: a leaf, or its members.
type parquetColumn struct {
	*Column
	leaf       int
	members    []*parquetColumn
	object     *shape
	repetition int // of what is in a list or a map
	first      int // repetition of the next value in the list being written
	definition int
	each       func(name, value []byte) error
}

// columnOf numbers the leaves of a column; within counts the lists around it.
func (p *groups) columnOf(c *Column, within int) *parquetColumn {
	pc := &parquetColumn{Column: c, repetition: within + 1}
	switch c.Kind {
	case List:
		pc.members = []*parquetColumn{p.columnOf(&c.Members[0], within+1)}
	case Words:
		key, word := text("key"), text("value")
		pc.members = []*parquetColumn{p.columnOf(&key, within+1), p.columnOf(&word, within+1)}
	case Object:
		pc.object = shapeOf(names(c.Members), false)
		for i := range c.Members {
			pc.members = append(pc.members, p.columnOf(&c.Members[i], within))
		}
		return pc
	default:
		pc.leaf = len(p.leaves)
		p.leaves = append(p.leaves, nil)
		return pc
	}
	pc.each = func(name, value []byte) error {
		repetition := pc.first
		pc.first = pc.repetition
		if name != nil {
			if err := p.put(pc.members[0], name, repetition, pc.definition); err != nil {
				return err
			}
			return p.put(pc.members[1], value, repetition, pc.definition)
		}
		return p.put(pc.members[0], value, repetition, pc.definition)
	}
	return pc
}

// put adds a value to the leaves of a column, by the levels of Dremel: how far
// it repeats, and how much of its path is there.
func (p *groups) put(c *parquetColumn, value []byte, repetition, definition int) error {
	if isNull(value) {
		if !c.empty() {
			return missing(c.Column)
		}
		p.nothing(c, repetition, definition)
		return nil
	}
	if c.empty() {
		definition++
	}
	switch c.Kind {
	case List, Words:
		before := len(p.leaves[c.anyLeaf()])
		c.first, c.definition = repetition, definition+1
		if _, err := items(value, c.each); err != nil {
			return err
		}
		if len(p.leaves[c.anyLeaf()]) == before { // an empty one
			p.nothing(c, repetition, definition)
		}
		return nil
	case Object:
		if _, err := c.object.read(value); err != nil {
			return err
		}
		for i, m := range c.members {
			if err := p.put(m, c.object.cells[i], repetition, definition); err != nil {
				return err
			}
		}
		return nil
	}
	v, err := p.valueOf(c.Column, value)
	if err != nil {
		return err
	}
	p.leaves[c.leaf] = append(p.leaves[c.leaf], v.Level(repetition, definition, c.leaf))
	return nil
}

func (c *parquetColumn) anyLeaf() int {
	for c.members != nil {
		c = c.members[0]
	}
	return c.leaf
}

// nothing adds that a path ends at a level to each leaf of a column.
func (p *groups) nothing(c *parquetColumn, repetition, definition int) {
	for _, m := range c.members {
		p.nothing(m, repetition, definition)
	}
	if c.members == nil {
		p.leaves[c.leaf] = append(p.leaves[c.leaf], parquet.NullValue().Level(repetition, definition, c.leaf))
	}
}

func (p *groups) valueOf(c *Column, value []byte) (v parquet.Value, err error) {
	switch c.Kind {
	case Number:
		n, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return v, unfit(c, value)
		}
		return parquet.DoubleValue(n), nil
	case Integer:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return v, unfit(c, value)
		}
		return parquet.Int64Value(n), nil
	case Boolean:
		return parquet.BooleanValue(value[0] == 't'), nil
	case Instant:
		ms, err := c.instantOf(value)
		return parquet.Int64Value(ms), err
	}
	var text []byte
	if text, p.room, err = c.textOf(value, p.room); err != nil {
		return v, err
	}
	return parquet.ByteArrayValue(text), nil
}

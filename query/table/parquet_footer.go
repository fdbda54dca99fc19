package table

import (
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"preismon/query/frame"
)

// footer returns the description of the file.
func (p *groups) footer() []byte {
	f := format.FileMetaData{
		Version: 1, NumRows: p.total, CreatedBy: "preismon", RowGroups: make([]format.RowGroup, 0, len(p.written)),
		Schema: append([]format.SchemaElement{parent("results", format.Required, len(p.columns))}, elements(p.columns)...),
	}
	for n := range p.written {
		f.RowGroups = append(f.RowGroups, p.describe(&p.written[n]))
		f.RowGroups[n].Ordinal = int16(n)
	}
	var absent []string
	for i := range p.columns {
		if p.columns[i].Optional {
			absent = append(absent, p.columns[i].Name)
		}
	}
	if len(absent) > 0 {
		f.KeyValueMetadata = []format.KeyValue{{Key: absentKey, Value: strings.Join(absent, ",")}}
	}
	for range p.leaves { // statistics use the order of the type
		f.ColumnOrders = append(f.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	return encoded(&f)
}

// parent returns the schema element of a column that has members.
func parent(name string, repetition format.FieldRepetitionType, members int) format.SchemaElement {
	return format.SchemaElement{Name: name, RepetitionType: thrift.New(repetition), NumChildren: thrift.New(int32(members))}
}

// elements returns the schema elements of columns.
func elements(columns []frame.Column) (all []format.SchemaElement) {
	for i := range columns {
		c := &columns[i]
		repetition := format.Required
		if c.Empty() {
			repetition = format.Optional
		}
		switch c.Kind {
		case frame.List:
			list := parent(c.Name, repetition, 1)
			list.ConvertedType, list.LogicalType.Value = thrift.New(deprecated.List), &format.ListType{}
			element := c.Members[0]
			element.Name = "element"
			all = append(append(all, list, parent("list", format.Repeated, 1)), elements([]frame.Column{element})...)
		case frame.Words:
			words := parent(c.Name, repetition, 1)
			words.ConvertedType, words.LogicalType.Value = thrift.New(deprecated.Map), &format.MapType{}
			all = append(append(all, words, parent("key_value", format.Repeated, 2)), elements(keyAndValue)...)
		case frame.Object:
			all = append(append(all, parent(c.Name, repetition, len(c.Members))), elements(c.Members)...)
		default:
			all = append(all, element(c, repetition))
		}
	}
	return all
}

// keyAndValue are the columns of words.
var keyAndValue = []frame.Column{{Name: "key", Kind: frame.Text}, {Name: "value", Kind: frame.Text}}

// element returns the schema element of a column that has values.
func element(c *frame.Column, repetition format.FieldRepetitionType) format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, Type: thrift.New(physical(c.Kind)), RepetitionType: thrift.New(repetition)}
	switch c.Kind {
	case frame.Text, frame.JSON:
		e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.UTF8), &format.StringType{}
	case frame.Instant:
		e.ConvertedType = thrift.New(deprecated.TimestampMillis)
		e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
	case frame.Integer:
		e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.Int64), &format.IntType{BitWidth: 64, IsSigned: true}
	}
	return e
}

func physical(k frame.Kind) format.Type {
	switch k {
	case frame.Number:
		return format.Double
	case frame.Integer, frame.Instant:
		return format.Int64
	case frame.Boolean:
		return format.Boolean
	}
	return format.ByteArray
}

// describe returns the metadata of a row group.
func (p *groups) describe(g *rowGroup) format.RowGroup {
	d := format.RowGroup{NumRows: g.Rows, FileOffset: g.Chunks[0].Start}
	for n := range g.Chunks {
		c := &g.Chunks[n]
		d.TotalByteSize, d.TotalCompressedSize = d.TotalByteSize+c.Uncompressed, d.TotalCompressedSize+c.Compressed
		d.Columns = append(d.Columns, format.ColumnChunk{MetaData: p.leaves[n].describe(c)})
	}
	if n := slices.Index(p.leaves, p.sortedBy); n >= 0 && p.sorted != Unsorted {
		d.SortingColumns = []format.SortingColumn{{ColumnIdx: int32(n), Descending: p.sorted == Descending}}
	}
	return d
}

// describe returns the metadata of a chunk.
func (l *leaf) describe(c *chunk) format.ColumnMetaData {
	d := format.ColumnMetaData{
		Type: physical(l.kind), Encoding: []format.Encoding{format.RLE}, PathInSchema: l.path, Codec: format.Zstd, NumValues: c.Values,
		TotalUncompressedSize: c.Uncompressed, TotalCompressedSize: c.Compressed, DataPageOffset: c.Data,
		Statistics: format.Statistics{NullCount: c.Nulls, MinValue: c.Least, MaxValue: c.Most},
	}
	if c.Plain || c.Dictionary {
		d.Encoding = append(d.Encoding, format.Plain)
	}
	if c.Numbered {
		d.Encoding = append(d.Encoding, format.RLEDictionary)
	}
	if c.Dictionary {
		d.DictionaryPageOffset = c.Start
	}
	return d
}

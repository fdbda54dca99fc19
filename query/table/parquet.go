package table

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"preismon/query/frame"
)

const (
	// A row group ends after this many rows, or after about this many
	// compressed bytes: this and the dictionaries are the memory that a writer
	// needs.
	groupRows  = 122_880
	groupBytes = 8 << 20
)

// Sorting is how the rows of a file are sorted by their first Instant that is
// never missing.
type Sorting uint8

// The orders.
const (
	Unsorted Sorting = iota
	Ascending
	Descending
)

// SortingOf returns the Sorting of results.
func SortingOf(descending bool) Sorting {
	if descending {
		return Descending
	}
	return Ascending
}

// Parquet writes rows as a Parquet file, compressed with zstd. It does not use
// the writer of a library, because texts that repeat arrive as numbers of
// dictionary values and go into the file as such. The file says that it is
// sorted only if all its rows are: those of several reads may not be.
func Parquet(w io.Writer, columns []frame.Column, sorted Sorting) Sections {
	p := &groups{to: w, columns: columns, sorted: sorted}
	p.compress, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), // these options cause no error
		zstd.WithWindowSize(256<<10), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	for i := range columns {
		p.leavesOf(&columns[i], nil, 0, 0)
	}
	if i := slices.IndexFunc(p.leaves, func(l *leaf) bool { return l.kind == frame.Instant && l.definition == 0 }); i >= 0 {
		p.sortedBy = p.leaves[i]
	}
	return p
}

var parquetMagic = []byte("PAR1")

type groups struct {
	to       io.Writer
	columns  []frame.Column
	sorted   Sorting
	sortedBy *leaf // nil: no Instant is never missing
	first    int64 // instant of it in the row group in progress
	last     int64 // the newest of its instants
	compress *zstd.Encoder

	leaves  []*leaf
	at      int64 // bytes written
	rows    int   // of the row group in progress
	held    int   // bytes of its pages
	written []rowGroup
	cut     int // how many of them belong to sections that have ended
	total   int64

	// For the batch that is being written.

	shared   map[sharedKey]page
	room     []int32
	coded    []byte
	plain    []byte
	packed   []byte
	squeezed []byte
	levels   levels
}

type rowGroup struct {
	Rows        int64
	First, Last int64 // instants by which the file is sorted
	Chunks      []chunk
}

// leavesOf appends the leaves of a column, in the order of the file.
func (p *groups) leavesOf(c *frame.Column, path []string, definition, repetition uint8) {
	path = append(path[:len(path):len(path)], c.Name)
	if c.Empty() {
		definition++
	}
	switch c.Kind {
	case frame.List:
		element := c.Members[0]
		element.Name = "element"
		p.leavesOf(&element, append(path, "list"), definition+1, repetition+1)
		return
	case frame.Words:
		for i := range keyAndValue {
			p.leavesOf(&keyAndValue[i], append(path, "key_value"), definition+1, repetition+1)
		}
		return
	case frame.Object:
		for i := range c.Members {
			p.leavesOf(&c.Members[i], path, definition, repetition)
		}
		return
	}
	l := &leaf{kind: c.Kind, path: path, definition: definition, repetition: repetition, met: new(numbers)}
	if n := len(p.leaves); n > 0 && p.leaves[n-1].pairs(l) {
		l.met = p.leaves[n-1].met
	}
	p.leaves = append(p.leaves, l)
}

func (p *groups) Write(rows *frame.Batch) error {
	if err := p.begin(); err != nil || rows.Len == 0 {
		return err
	}
	p.shared = map[sharedKey]page{}
	next := p.leaves
	for i := range p.columns {
		next = p.put(next, part{path: []step{{&p.columns[i], &rows.Columns[i]}}, rows: rows.Len})
	}
	if p.rows += rows.Len; p.rows >= groupRows || p.held >= groupBytes {
		return p.endGroup()
	}
	return nil
}

func (p *groups) begin() error {
	if p.at > 0 {
		return nil
	}
	return p.send(parquetMagic)
}

// Close writes the last row group and the footer.
func (p *groups) Close() error {
	if _, err := p.Cut(); err != nil {
		return err
	}
	footer := p.footer()
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return p.send(append(footer, parquetMagic...))
}

func (p *groups) send(b []byte) error {
	n, err := p.to.Write(b)
	p.at += int64(n)
	return err
}

// section describes row groups.
type section struct {
	Groups []rowGroup // their chunks begin so many bytes after the section
	Sorted Sorting
}

// Cut implements Sections: it ends the row group.
func (p *groups) Cut() ([]byte, error) {
	if err := p.begin(); err != nil {
		return nil, err
	}
	if p.rows > 0 {
		if err := p.endGroup(); err != nil {
			return nil, err
		}
	}
	described := section{slices.Clone(p.written[p.cut:]), p.sorted}
	if p.cut = len(p.written); len(described.Groups) == 0 {
		return nil, nil
	}
	described.move(-described.Groups[0].Chunks[0].Start)
	return json.Marshal(described)
}

// move notes that a section begins so many bytes later.
func (s *section) move(by int64) {
	for i := range s.Groups {
		g := &s.Groups[i]
		g.Chunks = slices.Clone(g.Chunks)
		for n := range g.Chunks {
			g.Chunks[n].Start += by
			g.Chunks[n].Data += by
		}
	}
}

// Splice implements Sections.
func (p *groups) Splice(described []byte) error {
	if err := p.begin(); err != nil || len(described) == 0 {
		return err
	}
	var s section
	if err := json.Unmarshal(described, &s); err != nil {
		return err
	}
	s.move(p.at)
	for _, g := range s.Groups {
		p.sees([]int64{g.First, g.Last})
		p.total += g.Rows
		for _, c := range g.Chunks {
			p.at += c.Compressed
		}
	}
	if s.Sorted == Unsorted {
		p.sorted = Unsorted
	}
	p.written = append(p.written, s.Groups...)
	p.cut = len(p.written)
	return nil
}

// sees compares the next instants by which the file is sorted.
func (p *groups) sees(instants []int64) {
	if p.rows == 0 {
		p.first = instants[0]
	}
	if p.total == 0 && p.rows == 0 {
		p.last = instants[0]
	}
	for _, at := range instants {
		if p.sorted == Ascending && at < p.last || p.sorted == Descending && at > p.last {
			p.sorted = Unsorted
		}
		p.last = at
	}
}

// endGroup writes the chunks of the columns one after another.
func (p *groups) endGroup() error {
	g := rowGroup{Rows: int64(p.rows), First: p.first, Last: p.last}
	for _, l := range p.leaves {
		c := l.chunk()
		c.Start = p.at
		if l.numbers() > 0 {
			values := p.page(format.PageHeader{
				Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(l.numbers()), Encoding: format.Plain}),
			}, l.dictionary(p.plain[:0]))
			c.Uncompressed += values.size
			if err := p.send(values.bytes); err != nil {
				return err
			}
			c.Dictionary = true
		}
		c.Data = p.at
		if err := p.send(l.pages); err != nil {
			return err
		}
		c.Compressed = p.at - c.Start
		g.Chunks = append(g.Chunks, c)
	}
	for _, l := range p.leaves { // only now, because leaves share dictionaries
		l.forget()
	}
	p.written = append(p.written, g)
	p.total += g.Rows
	p.rows, p.held = 0, 0
	return nil
}

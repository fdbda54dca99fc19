package maps

import (
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"preismon/contracts/fault"
)

// parquet returns the rows of a Parquet file as a source. A column in a group
// is called group.column; a repeated one is refused.
func (u *unpacking) parquet(f *os.File, size int64) ([]Source, error) {
	file, err := parquet.OpenFile(f, size)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, u.name+" cannot be read as Parquet")
	}
	schema := file.Schema()
	var header []string
	var columns []func(parquet.Value) string
	for _, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		name := strings.Join(path, ".")
		if leaf.MaxRepetitionLevel > 0 {
			return nil, fault.New(fault.Invalid, "", "column %s of %s holds lists; leave it out, or write it as text", name, u.name)
		}
		header, columns = append(header, name), append(columns, cellOf(leaf.Node.Type()))
	}
	s, err := u.source(u.name, Label(u.name)+".csv", u.at, func(w io.Writer) error {
		out := csv.NewWriter(w)
		if err := out.Write(header); err != nil {
			return err
		}
		cells := make([]string, len(header))
		for _, group := range file.RowGroups() {
			if err := groupRows(group, columns, cells, out); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	})
	s.made = true
	return []Source{s}, err
}

// groupRows writes the rows of a row group.
func groupRows(group parquet.RowGroup, columns []func(parquet.Value) string, cells []string, out *csv.Writer) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buffer := make([]parquet.Row, 256)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			clear(cells)
			for _, v := range row {
				if !v.IsNull() {
					cells[v.Column()] = columns[v.Column()](v)
				}
			}
			if err := out.Write(cells); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cellOf returns a function that writes values of a type as text for a CSV:
// times in RFC 3339, without a zone if the type has none, decimals with their
// point, and bytes that are neither said to be text nor can be as hexadecimal
// digits.
func cellOf(t parquet.Type) func(parquet.Value) string {
	if l := t.LogicalType(); l != nil {
		switch l := l.Value.(type) {
		case *format.TimestampType:
			return timestampOf(l)
		case *format.DateType:
			return func(v parquet.Value) string {
				return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
			}
		case *format.DecimalType:
			return decimalOf(t.Kind(), int(l.Scale))
		case *format.IntType:
			if !l.IsSigned {
				return unsignedOf(t.Kind())
			}
		case *format.UUIDType:
			return func(v parquet.Value) string {
				id, err := uuid.FromBytes(v.ByteArray())
				if err != nil {
					return hex.EncodeToString(v.ByteArray())
				}
				return id.String()
			}
		case *format.StringType, *format.EnumType, *format.JsonType:
			return func(v parquet.Value) string { return string(v.ByteArray()) }
		}
	}
	switch t.Kind() {
	case parquet.Double:
		return func(v parquet.Value) string { return strconv.FormatFloat(v.Double(), 'f', -1, 64) }
	case parquet.Float:
		return func(v parquet.Value) string { return strconv.FormatFloat(float64(v.Float()), 'f', -1, 32) }
	case parquet.Int96:
		return func(v parquet.Value) string { return int96Time(v.Int96()).Format(time.RFC3339) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return func(v parquet.Value) string {
			if b := v.ByteArray(); !utf8.Valid(b) {
				return hex.EncodeToString(b)
			}
			return string(v.ByteArray())
		}
	}
	return parquet.Value.String
}

// unsignedOf returns a function that writes numbers without a sign, which are
// stored as if they had one.
func unsignedOf(kind parquet.Kind) func(parquet.Value) string {
	if kind == parquet.Int32 {
		return func(v parquet.Value) string { return strconv.FormatUint(uint64(uint32(v.Int32())), 10) }
	}
	return func(v parquet.Value) string { return strconv.FormatUint(uint64(v.Int64()), 10) }
}

// timestampOf returns a function that writes timestamps.
func timestampOf(l *format.TimestampType) func(parquet.Value) string {
	perSecond := int64(time.Second)
	switch l.Unit.Value.(type) {
	case *format.MilliSeconds:
		perSecond = 1000
	case *format.MicroSeconds:
		perSecond = 1_000_000
	}
	form := time.RFC3339Nano
	if !l.IsAdjustedToUTC {
		form = "2006-01-02T15:04:05.999999999"
	}
	return func(v parquet.Value) string {
		n := v.Int64()
		return time.Unix(n/perSecond, n%perSecond*(int64(time.Second)/perSecond)).UTC().Format(form)
	}
}

// decimalOf returns a function that writes an unscaled number, of whatever
// kind, with its point.
func decimalOf(kind parquet.Kind, scale int) func(parquet.Value) string {
	return func(v parquet.Value) string {
		n := new(big.Int)
		switch kind {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default: // big-endian, two's complement
			b := v.ByteArray()
			n.SetBytes(b)
			if len(b) > 0 && b[0] >= 0x80 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		if n.Sign() < 0 {
			return "-" + shift(n.Neg(n).String(), scale)
		}
		return shift(n.String(), scale)
	}
}

// int96Time converts a time as old writers store it: nanoseconds of the day,
// and a Julian day.
func int96Time(v deprecated.Int96) time.Time {
	const unixEpoch = 2440588
	return time.Unix((int64(v[2])-unixEpoch)*86400, int64(uint64(v[1])<<32|uint64(v[0]))).UTC()
}

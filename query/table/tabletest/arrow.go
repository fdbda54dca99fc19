package tabletest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// endMark is what an Arrow stream ends with.
var endMark = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// Arrow reads a stream up to its end mark; times are written in the zone.
func Arrow(stream []byte, zone *time.Location) ([]Record, error) {
	if !bytes.HasSuffix(stream, endMark) {
		return nil, fmt.Errorf("the stream has no end")
	}
	in, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer in.Release()
	all := []Record{}
	for in.Next() {
		batch := in.RecordBatch()
		for row := range int(batch.NumRows()) {
			all = append(all, members(in.Schema().Fields(), row, zone, batch.Column))
		}
	}
	return all, in.Err()
}

// members returns the members of an object; null is left out where it means
// absent.
func members(fields []arrow.Field, row int, zone *time.Location, column func(int) arrow.Array) Record {
	r := Record{}
	for i, f := range fields {
		if n := column(i).NullN(); n > 0 && !f.Nullable {
			r[f.Name] = fmt.Errorf("%d nulls, and it cannot be null", n)
			continue
		}
		meaning, _ := f.Metadata.GetValue("preismon:absent")
		if v := fromArrow(column(i), row, zone); v != nil || meaning != "null" {
			r[f.Name] = v
		}
	}
	return r
}

func fromArrow(a arrow.Array, row int, zone *time.Location) any {
	if a.IsNull(row) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return a.Value(row)
	case *array.Dictionary:
		return fromArrow(a.Dictionary(), a.GetValueIndex(row), zone)
	case *array.Float64:
		return a.Value(row)
	case *array.Int64:
		return float64(a.Value(row))
	case *array.Boolean:
		return a.Value(row)
	case *array.Timestamp:
		return at(int64(a.Value(row)), zone)
	case *array.Map:
		from, to := a.ValueOffsets(row)
		words := Record{}
		for i := int(from); i < int(to); i++ {
			words[a.Keys().(*array.String).Value(i)] = a.Items().(*array.String).Value(i)
		}
		return words
	case *array.List:
		from, to := a.ValueOffsets(row)
		values := []any{}
		for i := int(from); i < int(to); i++ {
			values = append(values, fromArrow(a.ListValues(), i, zone))
		}
		return values
	case *array.Struct:
		return members(a.DataType().(*arrow.StructType).Fields(), row, zone, a.Field)
	}
	return fmt.Errorf("a column of %s", a.DataType())
}

package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/uuid"
)

// Conn runs statements; *Pool is one.
type Conn interface {
	Do(ctx context.Context, q ch.Query) error
}

// Row names the columns of a result, each with a pointer to the variable that
// takes its values.
type Row map[string]any

// Scan returns the query with a result that is read row by row: each is called
// with a row's values in the variables; nil: they keep those of the last row.
// A column without a variable of its type fails the query.
func Scan(q ch.Query, row Row, each func()) ch.Query {
	var columns proto.Results
	var set []func(i int)
	q.Result = columns.Auto()
	q.OnResult = func(_ context.Context, b proto.Block) error {
		if set == nil {
			for _, c := range columns {
				one, err := setter(c, row[c.Name])
				if err != nil {
					return err
				}
				set = append(set, one)
			}
		}
		for i := range b.Rows {
			for _, one := range set {
				one(i)
			}
			if each != nil {
				each()
			}
		}
		return nil
	}
	return q
}

// setters find how a column is read, by the type of its variable.
var setters = []func(proto.ResultColumn, any) (func(i int), error){
	setterOf[bool], setterOf[uint8], setterOf[uint16], setterOf[uint32], setterOf[uint64], setterOf[int64], setterOf[string], setterOf[uuid.UUID],
	setterOf[[]uint64], setterOf[[]string],
}

func setter(c proto.ResultColumn, to any) (func(i int), error) {
	for _, of := range setters {
		if set, err := of(c, to); set != nil || err != nil {
			return set, err
		}
	}
	return nil, fmt.Errorf("column %s: no variable of a known type, but %T", c.Name, to)
}

// setterOf returns nil for a variable of another type.
func setterOf[T any](c proto.ResultColumn, variable any) (func(i int), error) {
	to, ok := variable.(*T)
	if !ok {
		return nil, nil
	}
	from, ok := c.Data.(proto.ColumnOf[T])
	if !ok {
		return nil, fmt.Errorf("column %s: a variable of %T for %s", c.Name, *to, c.Data.(proto.Column).Type())
	}
	return func(i int) { *to = from.Row(i) }, nil
}

// Number returns the number n of the last row of a query's result; 0: it is empty.
func Number(ctx context.Context, conn Conn, sql string, parameters map[string]any) (n uint64, err error) {
	err = conn.Do(ctx, Scan(ch.Query{Body: sql, Parameters: ch.Parameters(parameters)}, Row{"n": &n}, nil))
	return n, err
}

// Name returns a name, quoted for a statement.
func Name(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}

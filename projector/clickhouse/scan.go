package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
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
	var setters []func(i int)
	q.Result = columns.Auto()
	q.OnResult = func(_ context.Context, b proto.Block) error {
		if setters == nil {
			for _, c := range columns {
				set, err := setter(c, row[c.Name])
				if err != nil {
					return err
				}
				setters = append(setters, set)
			}
		}
		for i := range b.Rows {
			for _, set := range setters {
				set(i)
			}
			if each != nil {
				each()
			}
		}
		return nil
	}
	return q
}

func setter(c proto.ResultColumn, to any) (func(i int), error) {
	switch to := to.(type) {
	case *uint16:
		return setterOf(c, to)
	case *uint32:
		return setterOf(c, to)
	case *uint64:
		return setterOf(c, to)
	case *int64:
		return setterOf(c, to)
	case *string:
		return setterOf(c, to)
	}
	return nil, fmt.Errorf("column %s: no variable of a known type, but %T", c.Name, to)
}

func setterOf[T any](c proto.ResultColumn, to *T) (func(i int), error) {
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

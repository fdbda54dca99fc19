package event

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"preismon/contracts"
)

// fieldNames are the JSON names of the fields of all records, and of the types
// within them.
var fieldNames = func() map[reflect.Type][]string {
	all := map[reflect.Type][]string{}
	var learn func(reflect.Type)
	learn = func(t reflect.Type) {
		switch {
		case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
			learn(t.Elem())
		case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
			all[t] = nil
			for _, f := range reflect.VisibleFields(t) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				all[t] = append(all[t], name)
				learn(f.Type)
			}
		}
	}
	for _, t := range payloads {
		learn(t)
	}
	return all
}()

// value reads a record of the catalogue, or a part of one, as its type requires.
func (p *decoder) value(v reflect.Value) {
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		*to = p.time()
		return
	case *map[string]string:
		*to = p.texts()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		p.fields(v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.value(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		p.array(func() {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			p.value(v.Index(n))
		})
	case reflect.Uint64:
		v.SetUint(id[uint64](p))
	case reflect.Int, reflect.Int64:
		v.SetInt(p.integer())
	case reflect.Bool:
		v.SetBool(p.boolean())
	case reflect.String:
		v.SetString(p.text())
	default:
		panic(fmt.Sprintf("event: no decoder for %s", v.Type()))
	}
}

func (p *decoder) fields(v reflect.Value) {
	names := fieldNames[v.Type()]
	_, missing := v.Interface().(contracts.ReferencePrice) // 0 is a price, so its absence must not read as 0
	p.object(names, func(name string) {
		p.value(v.Field(slices.Index(names, name)))
		missing = missing && name != "amountMinor"
	})
	if missing {
		p.failf("amountMinor: missing")
	}
}

// texts reads an object of texts. Its names are chosen by the customer.
func (p *decoder) texts() map[string]string {
	if p.next() != '{' {
		p.failf("not an object")
		return nil
	}
	all := map[string]string{}
	p.members(func(key string) {
		if _, twice := all[key]; twice {
			p.failf("given twice")
		} else if !p.literal("null") {
			all[strings.Clone(key)] = p.text()
		}
	})
	return all
}

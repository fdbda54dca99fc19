package query

import (
	"reflect"
	"time"
)

// sizeOf is roughly how many bytes of the heap a value holds, all that it refers
// to included. What values share is counted for each.
func sizeOf(v reflect.Value) int { return int(v.Type().Size()) + referred(v) }

// stringUnit is what the heap rounds short strings up to.
const stringUnit = 16

// referred is how many bytes a value refers to, besides those it consists of.
func referred(v reflect.Value) (n int) {
	if plain(v.Type()) {
		return 0
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n = sizeOf(v.Elem())
		}
	case reflect.String:
		n = (v.Len() + stringUnit - 1) / stringUnit * stringUnit
	case reflect.Slice:
		n = v.Cap() * int(v.Type().Elem().Size())
		if plain(v.Type().Elem()) {
			break
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			n += referred(v.Index(i))
		}
	case reflect.Map:
		// The table has groups of eight entries, and doubles before it is full.
		const head, group = 48, 8
		n = head + max(group, 2*v.Len())*int(v.Type().Key().Size()+v.Type().Elem().Size())
		for k, e := range v.Seq2() {
			n += referred(k) + referred(e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += referred(v.Field(i))
		}
	}
	return n
}

// plain reports whether values of a type refer to no memory of their own. Times
// share their locations.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return true
		}
		for i := range t.NumField() {
			if !plain(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return plain(t.Elem())
	default:
		return t.Kind() <= reflect.Complex128
	}
}

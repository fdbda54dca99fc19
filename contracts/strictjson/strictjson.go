// Package strictjson reads JSON where it matters what encoding/json tolerates: a
// repeated name, and anything after the value.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrNoObject means that the text is not one JSON object; ErrAfter, which wraps
// it, that something follows the object.
var (
	ErrNoObject = errors.New("not one JSON object")
	ErrAfter    = fmt.Errorf("%w: something follows it", ErrNoObject)
)

// Repeated is a name that an object has twice: readers differ in which of the
// two they use.
type Repeated string

func (r Repeated) Error() string { return "a member twice: " + string(r) }

// ErrDeep means that values are nested too deeply.
var ErrDeep = errors.New("nested too deeply")

// Unique refuses anything but one JSON value, in which no object has a name
// twice, and which is nested no deeper than depth.
func Unique(text []byte, depth int) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := unique(d, depth); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrAfter
	}
	return nil
}

// unique reads one value.
func unique(d *json.Decoder, depth int) error {
	open, err := d.Token()
	if open != json.Delim('{') && open != json.Delim('[') {
		return err
	}
	if depth == 0 {
		return ErrDeep
	}
	names := map[json.Token]bool{}
	for d.More() {
		if open == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if names[name] {
				return Repeated(name.(string)) // a name is a string; Token refuses anything else
			}
			names[name] = true
		}
		if err := unique(d, depth-1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}

// Members calls each for every member of the one object in text, in order,
// repeated names included. An error of each ends it and is returned; any other
// error is ErrNoObject, with what encoding/json reported.
func Members(text []byte, each func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.Join(ErrNoObject, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return errors.Join(ErrNoObject, err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return errors.Join(ErrNoObject, err)
		}
		if err := each(name.(string), value); err != nil { // a name is a string; Token refuses anything else
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errors.Join(ErrNoObject, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ErrAfter
	}
	return nil
}

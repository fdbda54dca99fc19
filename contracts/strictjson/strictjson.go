// Package strictjson reads JSON objects where it matters what encoding/json
// tolerates: a repeated name, and anything after the object.
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

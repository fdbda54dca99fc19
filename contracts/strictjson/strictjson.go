// Package strictjson reads objects of JSON where what encoding/json forgives
// matters: a name that is given twice, and what follows the object.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrNoObject: the text is not one JSON object; ErrAfter, which is one of it: something follows its object.
var (
	ErrNoObject = errors.New("not one JSON object")
	ErrAfter    = fmt.Errorf("%w: something follows it", ErrNoObject)
)

// Members hands over each member of the one object that the text is, in order,
// also those whose names were there before. An error of each ends it; any other
// is ErrNoObject, and says where encoding/json stumbled.
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
		if err := each(name.(string), value); err != nil { // a name is a string, or Token refuses it
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

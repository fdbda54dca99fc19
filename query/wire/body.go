package wire

import (
	"io"
	"net/http"

	"preismon/contracts/fault"
)

// discardedBytes is how much is read of a body that is refused. Most clients
// write all of a body before they read, and would find the connection closed
// instead of the answer.
const discardedBytes = 8 << 20

// ReadBody reads a whole request body, nil if there is none. A body of more than
// most bytes is refused with CodePayloadTooLarge, and the connection is closed
// after the answer.
func ReadBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	var body []byte
	size := r.ContentLength // -1: not known
	if size <= most {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, most+1)); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "The request body could not be read.")
		}
		size = int64(len(body))
	}
	if size <= most {
		return body, nil
	}
	w.Header().Set("Connection", "close")
	if r.Header.Get("Expect") == "" { // otherwise the client waits for leave to send its body
		_, _ = io.CopyN(io.Discard, r.Body, discardedBytes)
	}
	return nil, &fault.Error{
		Kind: fault.TooLarge, Code: CodePayloadTooLarge, Msg: "The request body is too large.", ActualBytes: size, MaxBytes: most,
	}
}

package query

import (
	"testing"
	"unsafe"
)

// TestSharedTextIsNotUsedAgain: who releases a page whose text others send, too,
// gives its buffer to nobody.
func TestSharedTextIsNotUsedAgain(t *testing.T) {
	for _, shared := range []bool{true, false} {
		buf := make([]byte, keptLeast)
		page := RowsJSON{buf: buf, shared: shared}
		page.Release()
		next := *rowBuffers.Get().(*[]byte)
		if again := unsafe.SliceData(next) == unsafe.SliceData(buf); again && shared {
			t.Error("a shared text is the buffer of the next page")
		}
	}
}

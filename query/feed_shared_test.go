package query

import (
	"testing"
	"unsafe"
)

// TestSharedTextIsNotUsedAgain: who releases a page whose text others send, too,
// gives its buffer to nobody.
func TestSharedTextIsNotUsedAgain(t *testing.T) {
	buf := make([]byte, keptLeast)
	page := RowsJSON{buf: buf, shared: true}
	page.Release()
	if next := *rowBuffers.Get().(*[]byte); unsafe.SliceData(next) == unsafe.SliceData(buf) {
		t.Error("a shared text is the buffer of the next page")
	}
}

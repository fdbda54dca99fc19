package query

import (
	"testing"
	"unsafe"
)

// TestSharedTextIsNotReused: releasing a page whose text others also send
// does not put its buffer back into the pool.
func TestSharedTextIsNotReused(t *testing.T) {
	buf := make([]byte, keptLeast)
	page := RowsJSON{buf: buf, shared: true}
	page.Release()
	if next := *rowBuffers.Get().(*[]byte); unsafe.SliceData(next) == unsafe.SliceData(buf) {
		t.Error("a shared text is the buffer of the next page")
	}
}

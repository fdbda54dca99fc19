package maps

import (
	"bufio"
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"preismon/contracts/fault"
)

// unpacked returns the content of a file, which may be plain or compressed by
// gzip or zstd, as its first bytes show. The caller must call finish when it
// has read enough.
func unpacked(file io.Reader) (plain io.Reader, finish func(), err error) {
	br := bufio.NewReaderSize(file, 64<<10)
	magic, _ := br.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, nil, unreadable(err)
		}
		return z, func() {}, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(512<<20))
		if err != nil {
			return nil, nil, unreadable(err)
		}
		return z, z.Close, nil
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return nil, nil, fault.New(fault.Invalid, "", "the file is a ZIP or a spreadsheet; save it as CSV")
	}
	return br, func() {}, nil
}

package rest

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"

	"preismon/query"
)

// splicer is a compressor to one gzip member (RFC 1952) that takes, between
// what it compresses itself, what was compressed before. Several members in a
// row would be as good, but some clients read only the first.
type splicer struct {
	w     io.Writer
	flate *flate.Writer
	begun bool // the header is written
	fresh bool // nothing was compressed since the last reset of flate
	crc   uint32
	size  uint32
}

func newSplicer() (*splicer, error) {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	return &splicer{flate: w}, err
}

// Reset begins a new member.
func (s *splicer) Reset(w io.Writer) {
	*s = splicer{w: w, flate: s.flate, fresh: true}
	s.flate.Reset(w)
}

// header is that of a member without a name and a time, compressed quickly.
var header = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}

func (s *splicer) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	_, err := s.w.Write(header)
	return err
}

func (s *splicer) Write(p []byte) (int, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	s.fresh = false
	s.crc, s.size = crc32.Update(s.crc, crc32.IEEETable, p), s.size+uint32(len(p))
	return s.flate.Write(p)
}

// Flush ends the current block at a byte.
func (s *splicer) Flush() error {
	if err := s.begin(); err != nil || s.fresh {
		return err
	}
	return s.flate.Flush()
}

// splice adds blocks. What is compressed after them refers to nothing before
// them.
func (s *splicer) splice(lines *query.Deflated) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if !s.fresh {
		s.flate.Reset(s.w)
		s.fresh = true
	}
	s.crc, s.size = combine(s.crc, lines.CRC, lines.Size), s.size+uint32(lines.Size)
	_, err := s.w.Write(lines.Blocks)
	return err
}

// Close ends the member.
func (s *splicer) Close() error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.flate.Close(); err != nil {
		return err
	}
	end := binary.LittleEndian.AppendUint32(nil, s.crc)
	_, err := s.w.Write(binary.LittleEndian.AppendUint32(end, s.size))
	return err
}

// combine returns the CRC-32 of two texts in a row, of which the second has so
// many bytes: the remainder of the first, multiplied by x to the power of the
// bits that follow it, plus that of the second, as polynomials over GF(2) with
// their bits reversed.
func combine(first, second uint32, size int) uint32 {
	power := uint32(1) << 31  // 1
	square := uint32(1) << 23 // x to the power of 8: a byte
	for n := size; n > 0; n >>= 1 {
		if n&1 == 1 {
			power = product(square, power)
		}
		square = product(square, square)
	}
	return product(power, first) ^ second
}

// product multiplies two polynomials, modulo that of CRC-32.
func product(a, b uint32) (p uint32) {
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			p ^= b
		}
		carry := b & 1
		b >>= 1
		if carry == 1 {
			b ^= crc32.IEEE
		}
	}
	return p
}

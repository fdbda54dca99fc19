package contracts

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// ID is the number of a record of kind K: unsigned 64 bit, never 0. Its text
// form is decimal everywhere, in JSON, URLs and tables; in JSON it is a string,
// because numbers above 2^53 do not survive every JSON reader.
type ID[K any] uint64

// The kinds of records that have an ID. They are types so that an item cannot be
// passed where a mandate is expected.
type (
	itemKind    struct{}
	mandateKind struct{}
	accountKind struct{}
	orderKind   struct{}
	fileJobKind struct{}
	archiveKind struct{}

	ItemID    = ID[itemKind]
	MandateID = ID[mandateKind]
	AccountID = ID[accountKind]
	OrderID   = ID[orderKind]
	FileJobID = ID[fileJobKind]
	ArchiveID = ID[archiveKind]
)

// ParseID reads the decimal text form: no sign, no leading zero, not 0.
func ParseID[T ~uint64](s string) (T, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 || s[0] == '0' {
		return 0, fmt.Errorf("%q is not an id: a decimal number from 1 to 18446744073709551615", s)
	}
	return T(n), nil
}

// DeriveID derives a stable ID from the parts that identify a record at its
// source, so that the same input yields the same record in every run: the first
// 63 bits of SHA-256 over the length-prefixed parts.
func DeriveID[T ~uint64](parts ...string) T {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	n := binary.BigEndian.Uint64(h.Sum(nil)) >> 1
	if n == 0 {
		n = 1
	}
	return T(n)
}

func (id ID[K]) String() string { return strconv.FormatUint(uint64(id), 10) }

// MarshalText writes the decimal form.
func (id ID[K]) MarshalText() ([]byte, error) {
	return strconv.AppendUint(nil, uint64(id), 10), nil
}

// UnmarshalText reads the decimal form.
func (id *ID[K]) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID[ID[K]](string(text))
	return err
}

func (f *Faults) id(path string, id uint64) {
	if id == 0 {
		f.Addf("%s: missing", path)
	}
}

package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"preismon/contracts"
	"preismon/contracts/fault"
)

// Ref describes an artifact as its catalogue record does.
type Ref struct {
	Key    Key
	Size   int64  // bytes
	SHA256 string // of the content, 64 lower-case hex digits
}

// RefOf returns the Ref of content.
func RefOf(key Key, content []byte) Ref {
	sum := sha256.Sum256(content)
	return Ref{Key: key, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// emptySHA256 is the hash of no bytes.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Validate reports every fault of the ref.
func (r Ref) Validate() error {
	var f contracts.Faults
	if err := r.Key.Validate(); err != nil {
		f.Addf("%w", err)
	}
	f.Check(r.Size >= 0, "size: %d, must not be negative", r.Size)
	f.Check(isSHA256(r.SHA256), "sha256: not 64 lower-case hex digits")
	f.Check(r.Size != 0 || r.SHA256 == emptySHA256, "sha256: not that of an empty file, but size is 0")
	return f.Err()
}

func isSHA256(s string) bool {
	return len(s) == hex.EncodedLen(sha256.Size) && strings.Trim(s, "0123456789abcdef") == ""
}

// Range is a part of an artifact, in bytes.
type Range struct{ Offset, Length int64 }

// validate checks ref, and that the part is within it.
func (p Range) validate(ref Ref) error {
	if err := ref.Validate(); err != nil {
		return invalid(err)
	}
	if p.Offset < 0 || p.Length < 0 || p.Offset > ref.Size || p.Length > ref.Size-p.Offset {
		return fault.New(fault.Invalid, "", "range of %d bytes from %d is outside of a file of %d bytes",
			p.Length, p.Offset, ref.Size)
	}
	return nil
}

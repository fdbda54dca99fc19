package archive

import (
	"fmt"

	"preismon/contracts"
)

// Folder separates the artifacts by the direction of their job.
type Folder uint8

// The folders. The zero Folder is not valid.
const (
	Exports Folder = iota + 1
	Imports
)

func (f Folder) String() string {
	switch f {
	case Exports:
		return "exports"
	case Imports:
		return "imports"
	}
	return "invalid"
}

// Key is the place of one artifact. Apart from the folder it consists only of
// numbers: no name from outside, and so no "..", reaches a store.
type Key struct {
	Folder  Folder
	Mandate contracts.MandateID
	Order   contracts.OrderID
	Archive contracts.ArchiveID
	File    int // its index in FileArchive.Files
}

// String returns the path, such as "exports/7/21/1234/0".
func (k Key) String() string {
	return fmt.Sprintf("%s/%d/%d/%d/%d", k.Folder, k.Mandate, k.Order, k.Archive, k.File)
}

// Validate reports every fault of the key.
func (k Key) Validate() error {
	var f contracts.Faults
	f.Check(k.Folder == Exports || k.Folder == Imports, "folder: neither exports nor imports")
	f.Check(k.Mandate != 0, "mandate: missing")
	f.Check(k.Order != 0, "order: missing")
	f.Check(k.Archive != 0, "archive: missing")
	f.Check(k.File >= 0 && k.File < contracts.MaxFilesPerArchive,
		"file: %d, must be from 0 to %d", k.File, contracts.MaxFilesPerArchive-1)
	if err := f.Err(); err != nil {
		return fmt.Errorf("key %s: %w", k, err)
	}
	return nil
}

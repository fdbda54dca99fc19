package contracts

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// FileJob is the definition of an export or an import of an order.
type FileJob struct {
	FileJobID FileJobID `json:"fileJobId"`
	MandateID MandateID `json:"mandateId"`
	OrderID   OrderID   `json:"orderId"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// Validate returns every fault of the record.
func (j FileJob) Validate() error {
	var f Faults
	f.id("fileJobId", uint64(j.FileJobID))
	f.id("mandateId", uint64(j.MandateID))
	f.id("orderId", uint64(j.OrderID))
	f.text("name", j.Name, true, 256)
	f.Check(!j.CreatedAt.IsZero(), "createdAt: missing")
	return f.Err()
}

// FileArchive is one archive document of a job: the files of one run.
type FileArchive struct {
	ArchiveID  ArchiveID      `json:"archiveId"`
	FileJobID  FileJobID      `json:"fileJobId"`
	MandateID  MandateID      `json:"mandateId"`
	OrderID    OrderID        `json:"orderId"`
	ArchivedAt time.Time      `json:"archivedAt"`
	Files      []ArchivedFile `json:"files"`
}

// ArchivedFile is one file of an archive document. Its content is in the
// artifact store, under the ids of the document and the file's index in it.
type ArchivedFile struct {
	Name      string `json:"name"`
	Filename  string `json:"filename"`
	SizeBytes int64  `json:"sizeBytes"`
	SHA256    string `json:"sha256"` // 64 lower-case hex digits
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// MaxFilesPerArchive bounds the files of one archive document.
const MaxFilesPerArchive = 10_000

// Validate returns every fault of the record.
func (a FileArchive) Validate() error {
	var f Faults
	f.id("archiveId", uint64(a.ArchiveID))
	f.id("fileJobId", uint64(a.FileJobID))
	f.id("mandateId", uint64(a.MandateID))
	f.id("orderId", uint64(a.OrderID))
	f.Check(!a.ArchivedAt.IsZero(), "archivedAt: missing")
	f.Check(len(a.Files) <= MaxFilesPerArchive, "files: %d, at most %d", len(a.Files), MaxFilesPerArchive)
	for i, file := range a.Files {
		path := "files[" + strconv.Itoa(i) + "]"
		f.text(path+".name", file.Name, true, 256)
		f.text(path+".filename", file.Filename, true, 255)
		f.Check(!strings.ContainsAny(file.Filename, "/\\\x00\r\n") && file.Filename != "." && file.Filename != "..",
			"%s.filename: %q is a path or holds a control character", path, file.Filename)
		f.Check(file.SizeBytes >= 0, "%s.sizeBytes: negative", path)
		f.Check(sha256Form.MatchString(file.SHA256), "%s.sha256: not 64 lower-case hex digits", path)
	}
	return f.Err()
}

package backup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// TestInWords: an error of the server about a location becomes one of our
// sentences, which never contains the secret of a bucket.
func TestInWords(t *testing.T) {
	folder, bucket := Location{Name: "monday"}, Location{URL: "https://store.example/b/p", Key: "key", Secret: "hush-hush"}
	for _, c := range []struct {
		at      Location
		code    proto.Error
		message string
		want    error
	}{
		{folder, proto.ErrBackupAlreadyExists, "Backup already exists", ErrExists},
		{folder, proto.ErrBackupNotFound, "Backup not found", ErrNone},
		{folder, proto.ErrNotEnoughSpace, "Cannot reserve 1.00 GiB", ErrNoSpace},
		{folder, 75, "Cannot write to file: , errno: 28, strerror: No space left on device", ErrNoSpace},
		{folder, proto.ErrAccessDenied, "u: Not enough privileges. To execute this query, it's necessary to have the grant BACKUP ON db.*", ErrDenied},
		{folder, 318, "The 'backups.allowed_path' configuration parameter is not set, cannot use 'File' backup engine", ErrNoFolder},
		{folder, 36, "Path '/x/monday' is not allowed for backups, see the 'backups.allowed_path' configuration parameter", ErrNoFolder},
		{folder, proto.ErrBackupEntryNotFound, "Database prices not found in backup", ErrOther},
		{folder, proto.ErrBackupEntryNotFound, "Table preismon.checkpoints not found in backup", ErrDamaged},
		{folder, proto.ErrBackupEntryNotFound, "File 'data/preismon/observations/1.bin' not found in backup", ErrDamaged},
		{folder, proto.ErrStdException, "filesystem error: No such file or directory", ErrDamaged},
		{bucket, proto.ErrS3Error, "NoSuchKey: the specified key does not exist", ErrDamaged},
		{bucket, proto.ErrS3Error, "The specified bucket does not exist: hush-hush", ErrBucket},
		{bucket, proto.ErrDNSError, "Not found address of host: store.example", ErrBucket},
		{bucket, 1000, "Poco::Exception. Code: 1000, Connection refused", ErrBucket},
		{bucket, proto.ErrBackupNotFound, "Backup not found", ErrNone},
	} {
		err := c.at.inWords(fmt.Errorf("it: %w", &ch.Exception{Code: c.code, Message: c.message}))
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.message, err)
		}
	}
	other := errors.New("something else")
	if err := folder.inWords(other); !errors.Is(err, other) {
		t.Error(err)
	}
	if err := folder.inWords(&ch.Exception{Code: 1, Message: "Permission denied"}); err == nil || !strings.Contains(err.Error(), "give the folder to the user") {
		t.Error(err)
	}
}

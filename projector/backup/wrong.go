package backup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// What is wrong with the location of a backup, or with the user that takes it.
var (
	ErrExists   = errors.New("there is a backup already; choose another name")
	ErrNone     = errors.New("there is no backup")
	ErrDamaged  = errors.New("the backup is damaged; take another one")
	ErrOther    = errors.New("the backup is of a database with another name; give that name in the DSN")
	ErrNoSpace  = errors.New("no space is left there; make room, or name another place")
	ErrDenied   = errors.New("the user of ClickHouse may not do this; use the administrator's DSN, or grant it BACKUP, and CREATE to restore")
	ErrNoFolder = errors.New("the server of ClickHouse has no such folder for backups; set backups.allowed_path in its configuration, or name a bucket")
	ErrBucket   = errors.New("the bucket cannot be used; look at its address, its name and the key")
)

// inWords explains what the server found at the location. The server's own message
// follows where it adds something.
func (p Location) inWords(err error) error {
	at := cmp.Or(p.Name, p.URL)
	e, ok := ch.AsException(err)
	if !ok {
		return err
	}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.Message, w) })
	}
	switch {
	case e.IsCode(proto.ErrBackupAlreadyExists):
		return fmt.Errorf("%s: %w", at, ErrExists)
	case e.IsCode(proto.ErrBackupNotFound):
		return fmt.Errorf("%s: %w", at, ErrNone)
	case e.IsCode(proto.ErrNotEnoughSpace), says("No space left on device"):
		return fmt.Errorf("%s: %w", at, ErrNoSpace)
	case p.URL != "" && says("NoSuchKey", "specified key does not exist"):
		return fmt.Errorf("%s: %w", at, ErrDamaged)
	case p.URL != "" && (e.IsCode(proto.ErrS3Error, proto.ErrPocoException, proto.ErrDNSError, proto.ErrNetworkError, proto.ErrSocketTimeout) || says("Connection refused")):
		return fmt.Errorf("%s: %w (%s)", at, ErrBucket, p.beginning(e.Message))
	case e.IsCode(proto.ErrAccessDenied):
		return fmt.Errorf("%s: %w (%s)", at, ErrDenied, p.beginning(e.Message))
	case says("backups.allowed_path", "is not allowed for backups"):
		return fmt.Errorf("%s: %w", at, ErrNoFolder)
	case p.URL == "" && says("Permission denied"):
		return fmt.Errorf("%s: the server of ClickHouse may not write in its folder for backups; give the folder to the user that the server runs as", at)
	case e.IsCode(proto.ErrBackupEntryNotFound) && says("Database "): // otherwise a table or a file is missing
		return fmt.Errorf("%s: %w (%s)", at, ErrOther, p.beginning(e.Message))
	case e.IsCode(proto.ErrBackupDamaged, proto.ErrBackupEntryNotFound, proto.ErrBackupIsEmpty),
		e.IsCode(proto.ErrStdException) && says("No such file or directory"): // files on the backup's list
		return fmt.Errorf("%s: %w", at, ErrDamaged)
	}
	return err
}

// beginning returns the first line of the server's message, shortened and
// without secrets.
func (p Location) beginning(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	if p.Secret != "" {
		message = strings.ReplaceAll(message, p.Secret.Reveal(), "***")
	}
	if r := []rune(message); len(r) > 200 {
		message = string(r[:200]) + "…"
	}
	return message
}

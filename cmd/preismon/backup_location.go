package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/embedded"
	"preismon/projector/backup"

	"github.com/alecthomas/kong"
)

// backupLocation is where a backup is: a name, for which a data folder or a server
// has a folder; a folder of this machine; or a bucket with a prefix.
type backupLocation struct {
	name   string
	folder string
	bucket archive.S3Config
	prefix string
}

func parseBackupLocation(text contracts.Secret) (backupLocation, error) {
	place := text.Reveal()
	if err := checkScheme(place); err != nil {
		return backupLocation{}, err
	}
	switch {
	case place == "":
		return backupLocation{}, errors.New("missing")
	case strings.HasPrefix(place, "s3:"):
		return parseBackupBucket(place)
	case place == "." || place == ".." || strings.ContainsRune(place, filepath.Separator):
		return backupLocation{folder: kong.ExpandPath(place)}, nil
	default:
		return backupLocation{name: place}, backup.Location{Name: place}.Validate()
	}
}

func parseBackupBucket(text string) (backupLocation, error) {
	u, err := url.Parse(text)
	if err != nil {
		return backupLocation{}, errors.New("not of the form s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX")
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if prefix == "" {
		return backupLocation{}, errors.New("the prefix in the bucket is missing")
	}
	u.Path = "/" + bucket
	parsed, err := parseArchive(contracts.Secret(u.String()))
	return backupLocation{bucket: parsed.s3, prefix: prefix}, err
}

// String names the location, without its secrets.
func (p backupLocation) String() string {
	if p.prefix != "" {
		return p.bucket.Endpoint + "/" + p.bucket.Bucket + "/" + p.prefix
	}
	return p.folder + p.name
}

// remote returns the location for a server that reads and writes it itself.
func (p backupLocation) remote() (backup.Location, error) {
	switch {
	case p.folder != "":
		return backup.Location{}, errors.New("a path is only for --data-dir; a server of your own has a folder of backups in its configuration: give a name in it, or a bucket")
	case p.name != "":
		return backup.Location{Name: p.name}, nil
	}
	return backup.Location{URL: p.bucket.Endpoint + "/" + p.bucket.Bucket + "/" + p.prefix, Key: p.bucket.AccessKey, Secret: p.bucket.SecretKey}, nil
}

// backupsFor returns where the backups of a data folder are: outside it, so that
// they outlive it.
func backupsFor(dataDir string) string { return filepath.Clean(dataDir) + "-backups" }

// serverBackups returns the folder that the embedded ClickHouse of a data folder
// writes to. Backups pass through it; those of older versions are still in it.
func serverBackups(dataDir string) string { return filepath.Join(dataDir, "clickhouse", "backups") }

// drillsOf returns the file of a data folder that records the drills of backups.
func drillsOf(dataDir string) string { return filepath.Join(dataDir, "drills.ndjson") }

// taken returns the folder of a backup that must exist; only for names and folders.
func (p backupLocation) taken(dataDir string) (string, error) {
	in := []string{p.folder}
	if p.name != "" {
		in = []string{filepath.Join(backupsFor(dataDir), p.name), filepath.Join(serverBackups(dataDir), p.name)}
	}
	for _, path := range in {
		f, err := backup.Look(path)
		switch {
		case errors.Is(err, backup.ErrNone):
		case err != nil:
			return "", err
		case !f.Whole:
			return "", fmt.Errorf("%s: %w: it was not finished", path, backup.ErrDamaged)
		default:
			return path, nil
		}
	}
	return "", fmt.Errorf("%w in %s; `preismon backup list --data-dir %s` lists them", backup.ErrNone, strings.Join(in, " or "), quoteShell(dataDir))
}

// take has a running `up` save its tables into its own folder, and moves them
// from there to their folder or bucket, because the embedded library cannot
// reach buckets.
func (p backupLocation) take(ctx context.Context, dataDir string, save func(backup.Location) (backup.Note, error)) error {
	if p.folder != "" {
		if _, err := os.Lstat(p.folder); err == nil {
			return fmt.Errorf("%s: %w", p.folder, backup.ErrExists)
		}
	}
	name := backup.Passing + strings.ToLower(rand.Text())
	passing := filepath.Join(serverBackups(dataDir), name)
	defer os.RemoveAll(passing) //nolint:errcheck // already gone, or the remains of a failure
	note, err := save(backup.Location{Name: name})
	if err != nil {
		return err
	}
	if err := note.Write(passing); err != nil {
		return err
	}
	if p.folder != "" {
		return moveFolder(passing, p.folder)
	}
	s, err := archive.NewS3(p.bucket)
	if err != nil {
		return err
	}
	return errors.Join(s.UploadFolder(ctx, passing, p.prefix, backup.Mark), s.Close())
}

// moveFolder moves a folder to a new one, completely or not at all, readable
// only by its owner.
func moveFolder(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(from, 0o700); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		err = copyFolder(from, to)
	}
	if errors.Is(err, fs.ErrExist) { // another backup was there first
		return fmt.Errorf("%s: %w", to, backup.ErrExists)
	}
	return err
}

// copyFolder copies a folder to a new one, completely or not at all, readable
// only by its owner.
func copyFolder(from, to string) error {
	copied, err := os.MkdirTemp(filepath.Dir(to), ".backup-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied) //nolint:errcheck // gone, or what a failure left
	if err := os.CopyFS(copied, os.DirFS(from)); err != nil {
		return err
	}
	return os.Rename(copied, to)
}

// opened runs a ClickHouse on the folder dir while do runs, and passes do the
// location under which that server finds the backup.
func (p backupLocation) opened(ctx context.Context, dir, dataDir string, log *slog.Logger, do func(c *embedded.ClickHouse, from backup.Location) error) (err error) {
	path := ""
	if p.prefix == "" {
		if path, err = p.taken(dataDir); err != nil {
			return err
		}
	} else {
		path = filepath.Join(dir, "backups", backup.Passing+strings.ToLower(rand.Text()))
		defer os.RemoveAll(path) //nolint:errcheck // a copy; the next start can do without
		if err := p.download(ctx, path); err != nil {
			return err
		}
	}
	c, err := embedded.StartClickHouse(ctx, embedded.ClickHouseConfig{
		Dir: dir, Backups: filepath.Dir(path), Library: embedded.Library{Logger: log}, Logger: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(context.WithoutCancel(ctx))) }()
	return do(c, backup.Location{Name: filepath.Base(path)})
}

func (p backupLocation) download(ctx context.Context, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	s, err := archive.NewS3(p.bucket)
	if err != nil {
		return err
	}
	return errors.Join(s.DownloadFolder(ctx, p.prefix, to), s.Close())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/query"
)

// archiveFlags configure where the content of archived files is, and how large a
// download may be. The name of the limit is the specification's.
type archiveFlags struct {
	Archives         []secret `name:"archive" help:"Where the files of exports and imports are: a folder, or s3://KEY:SECRET@HOST:PORT/BUCKET with ?region=NAME and, without TLS, tls=false. Several are tried in order. In KEY and SECRET write / as %2F and , as %2C." placeholder:"PLACE"`
	MaxDownloadBytes int64    `name:"archive-download-max-bytes" env:"RUST_API_ARCHIVE_DOWNLOAD_MAX_BYTES" help:"Refuse downloads of larger files." default:"${archive_download_max_bytes}"`
}

// faults returns what is wrong with the locations, without their secrets.
func (f archiveFlags) faults() error {
	var faults contracts.Faults
	for i, location := range f.Archives {
		_, err := parseArchive(location.Secret)
		faults.Under(fmt.Sprintf("archive %d", i+1), err)
	}
	return faults.Err()
}

// archiveLocation is a folder or a bucket.
type archiveLocation struct {
	dir string
	s3  archive.S3Config
}

// String names the location without its secrets.
func (p archiveLocation) String() string {
	if p.dir != "" {
		return "folder " + p.dir
	}
	return "bucket " + p.s3.Bucket + " at " + p.s3.Endpoint
}

// checkScheme refuses addresses that are not of buckets. They are no folders: as
// one, the secret in them would be printed, and be a name on the disk.
func checkScheme(location string) error {
	if strings.Contains(location, "://") && !strings.HasPrefix(location, "s3:") {
		return errors.New("neither a folder nor of the form s3://KEY:SECRET@HOST:PORT/BUCKET")
	}
	return nil
}

func parseArchive(location contracts.Secret) (archiveLocation, error) {
	text := location.Reveal()
	if text == "" {
		return archiveLocation{}, errors.New("empty")
	}
	if err := checkScheme(text); err != nil {
		return archiveLocation{}, err
	}
	if !strings.HasPrefix(text, "s3:") {
		dir, err := filepath.Abs(text)
		return archiveLocation{dir: dir}, err
	}
	cfg := archive.DefaultS3Config()
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return archiveLocation{}, errors.New("not of the form s3://KEY:SECRET@HOST:PORT/BUCKET")
	}
	cfg.Bucket = strings.Trim(u.Path, "/")
	cfg.AccessKey = u.User.Username()
	password, _ := u.User.Password()
	cfg.SecretKey = contracts.Secret(password)
	scheme := "https"
	for name, values := range u.Query() {
		switch value := values[len(values)-1]; name {
		case "region":
			cfg.Region = value
		case "tls":
			tls, err := strconv.ParseBool(value)
			if err != nil {
				return archiveLocation{}, fmt.Errorf("tls: %q is neither true nor false", value)
			}
			if !tls {
				scheme = "http"
			}
		default:
			return archiveLocation{}, fmt.Errorf("%q is neither region nor tls", name)
		}
	}
	cfg.Endpoint = scheme + "://" + u.Host
	return archiveLocation{s3: cfg}, cfg.Validate()
}

// openArchives opens the locations for reading, as parts of the lifecycle. If a
// location is down, /readyz reports it; the role stays ready without it.
func openArchives(l *lifecycle, a *admin, locations []secret) ([]query.Archive, error) {
	var all []query.Archive
	for i, location := range locations {
		p, err := parseArchive(location.Secret)
		if err != nil {
			return nil, err
		}
		opened, err := p.open()
		if err != nil {
			return nil, fmt.Errorf("archive %d: %w", i+1, err)
		}
		l.defers("archive", func(context.Context) error { return opened.Close() })
		a.optional(fmt.Sprintf("archive %d", i+1), func(ctx context.Context) error { return readable(ctx, opened) })
		all = append(all, artifacts{opened})
	}
	return all, nil
}

// readable returns an error if a store cannot be read. It looks up a key that
// does not exist, and writes nothing: a node may not have the right to.
func readable(ctx context.Context, store archive.Store) error {
	_, err := store.Stat(ctx, archive.Key{Folder: archive.Exports, Mandate: 1, Order: 1, Archive: 1, File: 1})
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

type closingStore interface {
	archive.Store
	io.Closer
}

func (p archiveLocation) open() (closingStore, error) {
	if p.dir == "" {
		return archive.NewS3(p.s3)
	}
	if info, err := os.Stat(p.dir); err != nil || !info.IsDir() { // otherwise a misspelt name would be an empty archive
		return nil, fmt.Errorf("%s is no folder", p.dir)
	}
	return archive.NewDir(p.dir)
}

// artifacts provides the files of a store to the query service.
type artifacts struct{ store archive.Store }

func (a artifacts) Open(ctx context.Context, f query.Artifact, offset int64) (io.ReadCloser, error) {
	ref := archive.Ref{
		Key:  archive.Key{Folder: archive.Exports, Mandate: f.Mandate, Order: f.OrderID, Archive: f.Archive, File: f.File},
		Size: f.SizeBytes, SHA256: f.SHA256,
	}
	if f.Direction == query.Imports {
		ref.Key.Folder = archive.Imports
	}
	if offset == 0 {
		return a.store.Open(ctx, ref)
	}
	return a.store.OpenRange(ctx, ref, archive.Range{Offset: offset, Length: f.SizeBytes - offset})
}

package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
)

// UploadFolder copies a folder of regular files, such as a backup, to objects
// under a prefix that must not have any yet. Files named last are uploaded
// after all others, so that a reader that finds them finds a complete folder.
func (s *S3) UploadFolder(ctx context.Context, dir, prefix, last string) error {
	for o := range s.api.ListObjectsIter(ctx, s.cfg.Bucket, minio.ListObjectsOptions{Prefix: prefix + "/", Recursive: true, MaxKeys: 1}) {
		if o.Err != nil {
			return unavailable(ctx, "list "+prefix, o.Err)
		}
		return fmt.Errorf("%s in bucket %s holds objects already", prefix, s.cfg.Bucket)
	}
	var names, marks []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.Type().IsRegular():
		case d.Name() == last:
			marks = append(marks, name)
		default:
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range append(names, marks...) {
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		_, err = s.api.FPutObject(ctx, s.cfg.Bucket, path.Join(prefix, filepath.ToSlash(rel)), name, minio.PutObjectOptions{SendContentMd5: true})
		if err != nil {
			return unavailable(ctx, "upload "+rel, err)
		}
	}
	return nil
}

// DownloadFolder copies the objects under a prefix to a folder, which it
// creates. It is an error if there are no objects.
func (s *S3) DownloadFolder(ctx context.Context, prefix, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	n := 0
	for o := range s.api.ListObjectsIter(ctx, s.cfg.Bucket, minio.ListObjectsOptions{Prefix: prefix + "/", Recursive: true}) {
		if o.Err != nil {
			return unavailable(ctx, "list "+prefix, o.Err)
		}
		rel := filepath.FromSlash(strings.TrimPrefix(o.Key, prefix+"/"))
		if !filepath.IsLocal(rel) {
			return errors.New("an object's key leads out of the folder")
		}
		if err := s.api.FGetObject(ctx, s.cfg.Bucket, o.Key, filepath.Join(dir, rel), minio.GetObjectOptions{}); err != nil {
			return unavailable(ctx, "download "+o.Key, err)
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("%s in bucket %s holds nothing", prefix, s.cfg.Bucket)
	}
	return nil
}

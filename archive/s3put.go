package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"preismon/contracts/fault"
)

// Put implements Store: one request for content that fits into a part,
// otherwise a multipart upload, completed only after all of the content
// matched. Each request carries the hash of its body, and can be repeated after
// a failure because its body is in memory.
func (s *S3) Put(ctx context.Context, ref Ref, content io.Reader) error {
	src, err := s.contentToPut(ctx, ref, content)
	if err != nil {
		return err
	}
	if ref.Size <= s.cfg.PartSize {
		err = s.putOne(ctx, ref, src, onlyNew())
	} else if _, err = s.Stat(ctx, ref.Key); err == nil { // before all of it is sent
		return sameChecked(ctx, s, ref, src)
	} else if fault.KindOf(err) == fault.NotFound {
		err = s.putMany(ctx, ref, src, onlyNew())
	}
	// The key was taken: by another writer, or by this one in a request whose
	// answer was lost. Repeating that request returns the first code on servers
	// that check the key first, such as MinIO, and the second on those that
	// check the upload first.
	if !hasCode(err, minio.PreconditionFailed, minio.NoSuchUpload) {
		return err
	}
	if held := same(ctx, s, ref); fault.KindOf(held) != fault.NotFound {
		return held
	}
	return err
}

// Replace implements Store: it is Put without the condition that the key is
// free. S3 always shows a complete object, the old one or the new one.
func (s *S3) Replace(ctx context.Context, ref Ref, content io.Reader) error {
	src, err := s.contentToPut(ctx, ref, content)
	if err != nil {
		return err
	}
	if ref.Size <= s.cfg.PartSize {
		return s.putOne(ctx, ref, src, minio.PutObjectOptions{})
	}
	return s.putMany(ctx, ref, src, minio.PutObjectOptions{})
}

// contentToPut refuses content with more parts than an upload can have.
func (s *S3) contentToPut(ctx context.Context, ref Ref, content io.Reader) (*checked, error) {
	if err := ref.Validate(); err != nil {
		return nil, invalid(err)
	}
	if ref.Size > maxParts*s.cfg.PartSize {
		return nil, invalid(fmt.Errorf("size: %d bytes, at most %d parts of %d", ref.Size, maxParts, s.cfg.PartSize))
	}
	return contentToPut(ctx, ref, content), nil
}

func (s *S3) putOne(ctx context.Context, ref Ref, src *checked, opts minio.PutObjectOptions) error {
	body := make([]byte, ref.Size)
	if err := src.fill(body); err != nil {
		return err
	}
	opts.DisableContentSha256 = true // despite its name, it disables the streaming signature, which would replace our hash
	opts.UserMetadata = map[string]string{minio.ChecksumSHA256.Key(): checksum(body)}
	_, err := s.api.PutObject(ctx, s.cfg.Bucket, ref.Key.String(), bytes.NewReader(body), ref.Size, "", ref.SHA256, opts)
	if err != nil {
		return unavailable(ctx, "put "+ref.Key.String(), err)
	}
	return nil
}

// putMany does what minio-go's PutObject does not: it completes the upload on
// the condition in last, such as that the key is still free.
func (s *S3) putMany(ctx context.Context, ref Ref, src *checked, last minio.PutObjectOptions) (err error) {
	key, op := ref.Key.String(), "put "+ref.Key.String()
	upload, err := s.api.NewMultipartUpload(ctx, s.cfg.Bucket, key, minio.PutObjectOptions{
		UserMetadata: map[string]string{"x-amz-checksum-algorithm": minio.ChecksumSHA256.String()},
	})
	if err != nil {
		return unavailable(ctx, op, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.abort(ctx, ref.Key, upload))
		}
	}()
	var parts []minio.CompletePart
	body := make([]byte, s.cfg.PartSize)
	for left := ref.Size; left > 0; left -= int64(len(body)) {
		body = body[:min(left, s.cfg.PartSize)]
		if err := src.fill(body); err != nil {
			return err
		}
		part, err := s.putPart(ctx, key, upload, len(parts)+1, body)
		if err != nil {
			return unavailable(ctx, op, err)
		}
		parts = append(parts, part)
	}
	if _, err := s.api.CompleteMultipartUpload(ctx, s.cfg.Bucket, key, upload, parts, last); err != nil {
		return unavailable(ctx, op, err)
	}
	return nil
}

func (s *S3) putPart(ctx context.Context, key, upload string, n int, body []byte) (minio.CompletePart, error) {
	sum := sha256.Sum256(body)
	part, err := s.api.PutObjectPart(ctx, s.cfg.Bucket, key, upload, n, bytes.NewReader(body), int64(len(body)),
		minio.PutObjectPartOptions{
			DisableContentSha256: true, // as in putOne
			Sha256Hex:            hex.EncodeToString(sum[:]),
			CustomHeader:         http.Header{minio.ChecksumSHA256.Key(): {checksum(body)}},
		})
	return minio.CompletePart{PartNumber: n, ETag: part.ETag, ChecksumSHA256: checksum(body)}, err
}

// abort discards the parts, even if the caller has gone.
func (s *S3) abort(ctx context.Context, key Key, upload string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.api.AbortMultipartUpload(ctx, s.cfg.Bucket, key.String(), upload)
	if err == nil || hasCode(err, minio.NoSuchUpload) {
		return nil
	}
	return fmt.Errorf("archive: abort the upload of %s: %w", key, err)
}

// onlyNew refuses a key that is taken, with PreconditionFailed.
func onlyNew() (opts minio.PutObjectOptions) {
	opts.SetMatchETagExcept("*")
	return opts
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.StdEncoding.EncodeToString(sum[:])
}

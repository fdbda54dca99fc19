package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 keeps artifacts in a bucket of MinIO or any other S3. The server must
// honour If-None-Match on PutObject and on CompleteMultipartUpload, as Amazon
// S3 and MinIO do: otherwise the later of two writers wins. The server must
// expire the parts of an upload whose writer was killed.
type S3 struct {
	cfg       S3Config
	api       minio.Core
	transport *http.Transport
}

// attempts is how often a request is tried; the pauses in between add up to
// about a second.
const attempts = 4

// NewS3 returns a client. It does not connect.
func NewS3(cfg S3Config) (*S3, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	endpoint, _ := url.Parse(cfg.Endpoint) // Validate has parsed it, too
	transport := newTransport(cfg.StallTimeout)
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:      credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey.Reveal(), ""),
		Secure:     endpoint.Scheme == "https",
		Transport:  transport,
		Region:     cfg.Region, // otherwise each client requests it, which needs one more permission
		MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return &S3{cfg: cfg, api: *core, transport: transport}, nil
}

// Close closes the connections that are not in use.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// EnsureBucket creates the bucket if it is missing and the configuration allows
// it. Unavailable: there is no bucket to use.
func (s *S3) EnsureBucket(ctx context.Context) error {
	err := s.Check(ctx)
	if !errors.Is(err, errNoBucket) || !s.cfg.CreateBucket {
		return err
	}
	err = s.api.MakeBucket(ctx, s.cfg.Bucket, minio.MakeBucketOptions{Region: s.cfg.Region})
	if err != nil && s.Check(ctx) != nil { // otherwise another client created it
		return unavailable(ctx, "make bucket "+s.cfg.Bucket, err)
	}
	return nil
}

var errNoBucket = errors.New("the bucket does not exist")

// Check implements Store: it checks that the bucket exists.
func (s *S3) Check(ctx context.Context) error {
	exists, err := s.api.BucketExists(ctx, s.cfg.Bucket)
	if err == nil && !exists {
		err = errNoBucket
	}
	if err != nil {
		return unavailable(ctx, "check bucket "+s.cfg.Bucket, err)
	}
	return nil
}

// Open implements Store.
func (s *S3) Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	if err := ref.Validate(); err != nil {
		return nil, invalid(err)
	}
	body, info, _, err := s.api.GetObject(ctx, s.cfg.Bucket, ref.Key.String(), minio.GetObjectOptions{})
	if err != nil {
		return nil, s.failure(ctx, "open", ref.Key, err)
	}
	if info.Size >= 0 && info.Size != ref.Size { // -1: the server did not report it
		body.Close()
		return nil, corrupt(ref.Key, fmt.Sprintf("it has %d bytes, recorded are %d", info.Size, ref.Size))
	}
	return object{storedContent(ctx, ref, body), body}, nil
}

// OpenRange implements Store.
func (s *S3) OpenRange(ctx context.Context, ref Ref, part Range) (io.ReadCloser, error) {
	if err := part.validate(ref); err != nil {
		return nil, err
	}
	if part.Length == 0 { // HTTP cannot express an empty range
		if err := checkSize(ctx, s, ref); err != nil {
			return nil, err
		}
		return object{storedPart(ctx, ref, 0, nothing()), io.NopCloser(nil)}, nil
	}
	var opts minio.GetObjectOptions
	if err := opts.SetRange(part.Offset, part.Offset+part.Length-1); err != nil {
		return nil, invalid(err)
	}
	body, _, header, err := s.api.GetObject(ctx, s.cfg.Bucket, ref.Key.String(), opts)
	if hasCode(err, minio.InvalidRange) {
		return nil, corrupt(ref.Key, "it is shorter than recorded")
	}
	if err != nil {
		return nil, s.failure(ctx, "open", ref.Key, err)
	}
	want := fmt.Sprintf("bytes %d-%d/%d", part.Offset, part.Offset+part.Length-1, ref.Size)
	if got := header.Get("Content-Range"); got != want {
		body.Close()
		return nil, corrupt(ref.Key, fmt.Sprintf("range %q came for %q", got, want))
	}
	return object{storedPart(ctx, ref, part.Length, body), body}, nil
}

// Stat implements Store.
func (s *S3) Stat(ctx context.Context, key Key) (int64, error) {
	if err := key.Validate(); err != nil {
		return 0, invalid(err)
	}
	info, err := s.api.StatObject(ctx, s.cfg.Bucket, key.String(), minio.StatObjectOptions{})
	if err != nil {
		return 0, s.failure(ctx, "stat", key, err)
	}
	return info.Size, nil
}

// failure distinguishes a missing object from a missing bucket, which some
// servers, and every proxy in front of one, report in the same way.
func (s *S3) failure(ctx context.Context, op string, key Key, err error) error {
	if hasCode(err, minio.NoSuchKey) {
		if err := s.Check(ctx); err != nil {
			return err
		}
		return notFound(key)
	}
	return unavailable(ctx, op+" "+key.String(), err)
}

func hasCode(err error, codes ...string) bool {
	e, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && slices.Contains(codes, e.Code)
}

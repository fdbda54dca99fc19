package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"preismon/archive"
	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/deploy/testserver"
	"preismon/deploy/testserver/must"
)

func s3Rig(tb testing.TB) rig {
	cfg := s3Config(tb)
	direct := s3Direct(tb, cfg)
	return rig{
		Store: openS3(tb, cfg),
		tamper: func(tb testing.TB, key archive.Key, content []byte) {
			must.Get(direct.PutObject(context.Background(), cfg.Bucket, key.String(),
				bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{}))(tb)
		},
		leftovers: func(tb testing.TB, key archive.Key) (n int) {
			for upload := range direct.ListIncompleteUploads(context.Background(), cfg.Bucket, key.String(), true) {
				must.Do(tb, upload.Err)
				n++
			}
			return n
		},
	}
}

func openS3(tb testing.TB, cfg archive.S3Config) *archive.S3 {
	tb.Helper()
	s := must.Get(archive.NewS3(cfg))(tb)
	tb.Cleanup(func() { s.Close() })
	return s
}

// s3Config returns the configuration of a fresh bucket on a real server. Its
// parts are as small as S3 allows, so that small files have several.
func s3Config(tb testing.TB) archive.S3Config {
	tb.Helper()
	cfg := newBucket(tb)
	cfg.CreateBucket = true
	must.Do(tb, openS3(tb, cfg).EnsureBucket(context.Background()))
	return cfg
}

// newBucket returns the configuration of a bucket that does not exist yet.
func newBucket(tb testing.TB) archive.S3Config {
	tb.Helper()
	server := testserver.S3(tb)
	cfg := archive.DefaultS3Config()
	cfg.Endpoint = "http://" + server.Endpoint
	cfg.Bucket = server.Bucket
	cfg.AccessKey, cfg.SecretKey = server.AccessKey, contracts.Secret(server.SecretKey)
	cfg.PartSize = 5 * mib
	return cfg
}

// s3Direct returns a client that knows none of our rules.
func s3Direct(tb testing.TB, cfg archive.S3Config) *minio.Client {
	endpoint := must.Get(url.Parse(cfg.Endpoint))(tb)
	c := must.Get(minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey.Reveal(), ""),
		Secure: endpoint.Scheme == "https",
	}))(tb)
	return c
}

func TestEnsureBucket(t *testing.T) {
	cfg := newBucket(t)
	ref := archive.RefOf(newKey(), []byte("x"))

	s := openS3(t, cfg)
	wantErr(t, s.EnsureBucket(t.Context()), fault.Unavailable, nil) // not allowed to create it
	wantErr(t, s.Check(t.Context()), fault.Unavailable, nil)
	_, err := s.Open(t.Context(), ref)
	wantErr(t, err, fault.Unavailable, nil) // a missing bucket is not a missing artifact
	_, err = s.Stat(t.Context(), ref.Key)
	wantErr(t, err, fault.Unavailable, nil)
	wantErr(t, s.Put(t.Context(), ref, strings.NewReader("x")), fault.Unavailable, nil)

	cfg.CreateBucket = true
	s = openS3(t, cfg)
	for range 2 {
		must.Do(t, s.EnsureBucket(t.Context()))
	}
	put(t, s, ref, []byte("x"))
}

func TestWrongCredentials(t *testing.T) {
	cfg := s3Config(t)
	cfg.SecretKey = "certainly-not-this"
	s := openS3(t, cfg)
	ref := archive.RefOf(newKey(), []byte("x"))
	err := s.Check(t.Context())
	wantErr(t, err, fault.Unavailable, nil)
	if text := fmt.Sprintf("%v %+v %#v", err, cfg, cfg); strings.Contains(text, cfg.SecretKey.Reveal()) {
		t.Errorf("the secret is in %s", text)
	}
	_, err = s.Open(t.Context(), ref)
	wantErr(t, err, fault.Unavailable, nil)
	wantErr(t, s.Put(t.Context(), ref, strings.NewReader("x")), fault.Unavailable, nil)
}

// The hash is sent with the object, so that the server checks it, too.
func TestS3HoldsChecksum(t *testing.T) {
	cfg := s3Config(t)
	s := openS3(t, cfg)
	for _, size := range []int{100, 6 * mib} {
		content := noise(size)
		ref := archive.RefOf(newKey(), content)
		put(t, s, ref, content)
		info := must.Get(s3Direct(t, cfg).StatObject(t.Context(), cfg.Bucket, ref.Key.String(), minio.StatObjectOptions{Checksum: true}))(t)
		if info.ChecksumSHA256 == "" {
			t.Errorf("%d bytes: no checksum on the server", size)
		}
		if info.ContentType != "application/octet-stream" {
			t.Errorf("content type is %q", info.ContentType)
		}
	}
}

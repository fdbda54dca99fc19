package archive

import (
	"net/url"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"preismon/contracts"
)

// S3Config describes the bucket and our identity there. The identity must be
// allowed to list, read and write the bucket's objects, and nothing else.
type S3Config struct {
	Endpoint  string // URL without a path: https://host[:port], or http:// inside a trusted network
	Region    string
	Bucket    string
	AccessKey string
	SecretKey contracts.Secret

	CreateBucket bool          // EnsureBucket may create it
	PartSize     int64         // bytes of one part of an upload, 5 MiB to 5 GiB; one Put holds as many in memory
	StallTimeout time.Duration // a connection without progress for this long is closed
}

const (
	minPartSize = 5 << 20 // a limit of S3, like the next two
	maxPartSize = 5 << 30
	maxParts    = 10_000
)

// DefaultS3Config sets everything but endpoint, bucket and identity.
func DefaultS3Config() S3Config {
	return S3Config{Region: "us-east-1", PartSize: 16 << 20, StallTimeout: time.Minute}
}

// Validate reports every fault of the configuration.
func (c S3Config) Validate() error {
	var f contracts.Faults
	u, err := url.Parse(c.Endpoint)
	f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		(u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "",
		"endpoint: must be a URL of scheme, host and port, such as https://s3.example.com")
	f.Check(c.Region != "", "region: missing")
	f.Check(s3utils.CheckValidBucketNameStrict(c.Bucket) == nil, "bucket: %q is not a name of a bucket", c.Bucket)
	f.Check(c.AccessKey != "", "accessKey: missing")
	f.Check(c.SecretKey != "", "secretKey: missing")
	f.Check(c.PartSize >= minPartSize && c.PartSize <= maxPartSize,
		"partSize: %d bytes, must be from %d to %d", c.PartSize, int64(minPartSize), int64(maxPartSize))
	f.Check(c.StallTimeout > 0, "stallTimeout: %s, must be positive", c.StallTimeout)
	return f.Err()
}

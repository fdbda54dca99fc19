package archive_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"preismon/archive"
	"preismon/contracts"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

func TestKeyString(t *testing.T) {
	f := func(key archive.Key, want string) {
		t.Helper()
		if got := key.String(); got != want {
			t.Errorf("%#v is %q, want %q", key, got, want)
		}
		equals.NoError(t, key.Validate(), "%s", want)
	}
	f(archive.Key{Folder: archive.Exports, Mandate: 7, Order: 21, Archive: 1234}, "exports/7/21/1234/0")
	f(archive.Key{Folder: archive.Imports, Mandate: 1, Order: 2, Archive: 3, File: 9999}, "imports/1/2/3/9999")
	f(archive.Key{Folder: archive.Exports, Mandate: math.MaxUint64, Order: math.MaxUint64, Archive: math.MaxUint64},
		"exports/18446744073709551615/18446744073709551615/18446744073709551615/0")
}

func TestKeyValidateNamesAllFaults(t *testing.T) {
	err := archive.Key{File: contracts.MaxFilesPerArchive}.Validate()
	for _, part := range []string{"folder", "mandate", "order", "archive", "file"} {
		if err == nil || !strings.Contains(err.Error(), part+":") {
			t.Errorf("%q is not named in: %v", part, err)
		}
	}
	if err := (archive.Key{Folder: 3, Mandate: 1, Order: 1, Archive: 1, File: -1}).Validate(); err == nil {
		t.Error("an unknown folder and a negative file are accepted")
	}
}

func TestRefValidate(t *testing.T) {
	good := archive.RefOf(archive.Key{Folder: archive.Exports, Mandate: 1, Order: 1, Archive: 1}, []byte("x"))
	f := func(change func(*archive.Ref), ok bool) {
		t.Helper()
		ref := good
		change(&ref)
		if err := ref.Validate(); (err == nil) != ok {
			t.Errorf("%+v: %v", ref, err)
		}
	}
	f(func(*archive.Ref) {}, true)
	f(func(r *archive.Ref) { *r = archive.RefOf(r.Key, nil) }, true)
	f(func(r *archive.Ref) { r.Size = 0 }, false) // with the hash of another content
	f(func(r *archive.Ref) { r.Size = -1 }, false)
	f(func(r *archive.Ref) { r.SHA256 = "" }, false)
	f(func(r *archive.Ref) { r.SHA256 = strings.ToUpper(r.SHA256) }, false)
	f(func(r *archive.Ref) { r.SHA256 += "00" }, false)
	f(func(r *archive.Ref) { r.Key = archive.Key{} }, false)
}

func TestS3ConfigValidate(t *testing.T) {
	good := archive.DefaultS3Config()
	good.Endpoint, good.Bucket, good.AccessKey, good.SecretKey = "https://s3.example.com", "artifacts", "us", "hush"
	must.Do(t, good.Validate())
	err := archive.S3Config{Bucket: "../etc"}.Validate()
	for _, part := range []string{"endpoint", "region", "bucket", "accessKey", "secretKey", "partSize", "stallTimeout"} {
		if err == nil || !strings.Contains(err.Error(), part+":") {
			t.Errorf("%q is not named in: %v", part, err)
		}
	}
	for _, endpoint := range []string{
		"s3.example.com", "ftp://s3.example.com", "https://", "https://me:pass@s3.example.com",
		"https://s3.example.com/bucket", "https://s3.example.com?x=1", ":",
	} {
		bad := good
		bad.Endpoint = endpoint
		_, err := archive.NewS3(bad)
		if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "me:pass") {
			t.Errorf("endpoint %q: %v", endpoint, err)
		}
	}
	if errors.Is(err, archive.ErrConflict) {
		t.Error("a wrong configuration is a conflict")
	}
}

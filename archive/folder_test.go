package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"preismon/deploy/testserver/must"
)

// TestFolder: a folder is uploaded to a bucket and comes back byte for byte; an
// upload does not replace another folder, and downloading a missing one fails.
func TestFolder(t *testing.T) {
	s := openS3(t, s3Config(t))
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "back")
	want := map[string]string{".mark": "last", "a/b c/größe.bin": strings.Repeat("x", 1<<20), "a/empty": "", "z": "\x00\n"}
	for name, content := range want {
		must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700))
		must.Do(t, os.WriteFile(filepath.Join(from, name), []byte(content), 0o600))
	}
	must.Do(t, s.UploadFolder(t.Context(), from, "backups/one", ".mark"))
	if err := s.UploadFolder(t.Context(), from, "backups/one", ".mark"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second upload: %v", err)
	}
	must.Do(t, s.UploadFolder(t.Context(), from, "backups/on", ".mark")) // a prefix of another's name
	must.Do(t, s.DownloadFolder(t.Context(), "backups/one", to))
	got := map[string]string{}
	for name := range want {
		b := must.Get(os.ReadFile(filepath.Join(to, name)))(t)
		got[name] = string(b)
	}
	if !cmp.Equal(got, want) {
		t.Error("it came back otherwise")
	}
	if err := s.DownloadFolder(t.Context(), "backups/none", filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "holds nothing") {
		t.Errorf("from nothing: %v", err)
	}
}

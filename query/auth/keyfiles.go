package auth

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
)

// keyFilesCheck is how often key files are read again.
const keyFilesCheck = 500 * time.Millisecond

// Follow reads the files of ReadKeyring again and again until ctx ends and
// takes over their changes, so that keys can be rotated while the node runs. If
// the file of another key is removed, its key is removed too; any other problem
// with a file leaves the keys unchanged.
func (k *Keyring) Follow(ctx context.Context, log *slog.Logger, signing string, others ...string) error {
	tick := time.NewTicker(keyFilesCheck)
	defer tick.Stop()
	said := ""
	for {
		next, err := ReadKeyring(signing, present(others)...)
		switch {
		case err != nil && err.Error() != said:
			said = err.Error()
			log.WarnContext(ctx, "token keys stay as they are: their files cannot be read", "error", err)
		case err == nil:
			if said = ""; !slices.Equal(next.IDs(), k.IDs()) {
				k.Replace(next)
				log.InfoContext(ctx, "token keys changed", "key_ids", next.IDs())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// present leaves out files that do not exist.
func present(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, fs.ErrNotExist)
	})
}

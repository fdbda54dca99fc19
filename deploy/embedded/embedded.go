// Package embedded is the runtime behind `preismon up`: ClickHouse as a child
// process, NATS JetStream in this process, and the data folder that holds them.
//
// Its callers are cmd/preismon and the test harness deploy/testserver. It
// promises that a started server answers, that nothing it started outlives this
// process (not even after kill -9), and that a folder is used by one process at
// a time. It does not promise safety against power loss unless asked to
// (NATSConfig.SyncAlways), replication, or service to other machines: it listens
// on 127.0.0.1 only.
//
// Importing the package matters: the child process is this binary started again;
// init recognises it by an environment variable and never returns.
package embedded

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"preismon/contracts/atomicfile"
)

// loadSecrets reads the named passwords in path, and creates those that are
// missing, of 26 letters and digits, about 130 bits. Only the owner can read the
// file.
func loadSecrets(path string, names ...string) (map[string]string, error) {
	secrets := map[string]string{}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the passwords of the data folder: %w", err)
	default:
		if err := json.Unmarshal(data, &secrets); err != nil {
			return nil, fmt.Errorf("the password file %s is damaged; delete it and start again, a new one is made: %w", path, err)
		}
	}
	missing := false
	for _, name := range names {
		if secrets[name] == "" {
			secrets[name], missing = rand.Text(), true
		}
	}
	if !missing {
		return secrets, nil
	}
	if err := writeJSON(path, secrets); err != nil {
		return nil, fmt.Errorf("keep the passwords of the data folder: %w", err)
	}
	return secrets, nil
}

// writeJSON replaces path atomically, so that a reader sees the old or the new
// content and never a part. Only the owner can read it.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'))
}

package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"preismon/contracts/atomicfile"
	"preismon/deploy/embedded"
	"preismon/query/auth"

	"golang.org/x/crypto/bcrypt"
)

// secretsCmd creates what docker-compose.yml names under secrets.
type secretsCmd struct {
	Folder string `arg:"" help:"Folder for the files; created if it is missing." type:"path"`
}

// The names of the services and what they hold, as in docker-compose.yml.
const (
	composeClickHouse = "clickhouse:9000"
	composeNATS       = "nats:4222"
	composeS3         = "s3:9000"
	composeName       = "preismon" // of the bucket, and of the users of NATS and S3
)

func (c *secretsCmd) Run(_ context.Context, std streams) error {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(c.Folder, 0o700); err != nil { // it may have been there
		return err
	}
	key := filepath.Join(c.Folder, "token-key")
	if err := auth.EnsureKey(key); err != nil {
		return err
	}
	if err := os.Chmod(key, 0o444); err != nil {
		return err
	}
	files, err := composeSecrets()
	if err != nil {
		return err
	}
	var there []string
	for name := range files {
		if _, err := os.Stat(filepath.Join(c.Folder, name)); err == nil {
			there = append(there, name)
		}
	}
	switch len(there) {
	case len(files):
		fmt.Fprintf(std.out, "The secrets in %s stay as they are.\n", c.Folder)
		return nil
	case 0:
	default: // they belong together: a password here, its hash there
		slices.Sort(there)
		return fmt.Errorf("%s holds only %s; bring the others back, or remove these to have new ones made, which does not affect the servers' data",
			c.Folder, strings.Join(there, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(c.Folder, name)
		if err := atomicfile.Write(file, files[name]); err != nil {
			return err
		}
		if err := os.Chmod(file, 0o444); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.out, "Made %d secrets in %s. They are stored nowhere else.\n", len(files)+1, c.Folder)
	return nil
}

// composeSecrets creates new ones, by the names of their files.
func composeSecrets() (map[string][]byte, error) {
	passwords := map[string]string{}
	for _, user := range []string{embedded.AdminUser, embedded.ProjectorUser, embedded.QueryUser} {
		passwords[user] = rand.Text()
	}
	dsn := func(user string) []byte {
		u := url.URL{Scheme: "clickhouse", User: url.UserPassword(user, passwords[user]), Host: composeClickHouse, Path: "/" + embedded.DefaultDatabase}
		return []byte(u.String())
	}
	bus, s3 := rand.Text(), rand.Text()
	hash, err := bcrypt.GenerateFromPassword([]byte(bus), bcrypt.DefaultCost)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"clickhouse-users": embedded.PasswordHashes(passwords),
		"admin-dsn":        dsn(embedded.AdminUser),
		"projector-dsn":    dsn(embedded.ProjectorUser),
		"query-dsn":        dsn(embedded.QueryUser),
		"nats-users":       fmt.Appendf(nil, "users: [ { user: %s, password: %q } ]\n", composeName, hash),
		"nats-url":         []byte("nats://" + composeName + ":" + bus + "@" + composeNATS),
		"s3-user":          []byte(composeName),
		"s3-password":      []byte(s3),
		"archive":          []byte("s3://" + composeName + ":" + s3 + "@" + composeS3 + "/" + composeName + "?tls=false"),
		"cursor-key":       []byte(rand.Text() + rand.Text()),
		"grafana-password": []byte(rand.Text()),
	}, nil
}

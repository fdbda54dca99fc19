package embedded_test

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
)

var update = flag.Bool("update", false, "write the files of deploy/clickhouse again")

// TestContainerFiles: docker-compose.yml mounts the same files that all our
// other servers get, so neither can be changed alone.
func TestContainerFiles(t *testing.T) {
	config, users, err := embedded.ContainerFiles("")
	must.Do(t, err)
	for name, want := range map[string][]byte{"config.xml": config, "users.xml": users} {
		equals.NoError(t, xml.Unmarshal(want, new(struct{})), "%s", name)
		file := filepath.Join("../clickhouse", name)
		if *update {
			must.Do(t, os.WriteFile(file, want, 0o644))
		}
		got := must.Get(os.ReadFile(file))(t)
		equals.Checkf(t, string(want), string(got), "%s is not what the template gives (-template +file); run this test with -update", file)
	}
	// What every server of ours must have, however its files are read.
	for _, must := range []string{
		"<async_insert>0</async_insert>", "<use_query_condition_cache>0</use_query_condition_cache>", "<readonly>2</readonly>",
		`<password_sha256_hex incl="preismon_query"/>`, "<include_from>/run/secrets/clickhouse-users</include_from>",
	} {
		if !strings.Contains(string(users), must) {
			t.Errorf("the users' file has no %s", must)
		}
	}
	if strings.Contains(string(users), "<no_password/>") {
		t.Error("a user of a container needs no password")
	}
}

// TestPasswordHashes: the file contains no password, but one hash for each
// user.
func TestPasswordHashes(t *testing.T) {
	text := string(embedded.PasswordHashes(map[string]string{embedded.AdminUser: "a secret", embedded.ProjectorUser: "b secret", embedded.QueryUser: "c secret"}))
	if strings.Contains(text, "secret") {
		t.Errorf("the passwords are in\n%s", text)
	}
	if sum := "<preismon_admin>984ca5162200734c592148f1820b71057f098573d138666b48663e4e30cd8d3a</preismon_admin>"; !strings.Contains(text, sum) || strings.Count(text, "</preismon_") != 3 {
		t.Errorf("not a hash for each user:\n%s", text)
	}
}

package embedded

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/xml"
	"strings"
	"text/template"
)

//go:embed clickhouse.config.xml
var configText string

//go:embed clickhouse.users.xml
var usersText string

var (
	configTemplate = template.Must(template.New("config").Parse(configText))
	usersTemplate  = template.Must(template.New("users").Parse(usersText))
)

// serverFiles are the values that the two files of a ClickHouse server are rendered from.
type serverFiles struct {
	LogLevel         string
	Dir, Data, Users string // its folder, that of its tables, and the file of its users
	Backups          string // the folder that backups are in
	Logs             string // empty: to its standard output
	Listen, From     string // addresses it listens on, and where its users may connect from
	TCPPort          int
	HTTPPort         int
	MemoryLimit      uint64
	ExtraConfig      []string
	Settings         []serverSetting
	Library          bool

	Include                 string // the file with the hashes; empty: they are in this one
	Admin, Projector, Query serverUser
	Databases               []string
}

type serverSetting struct{ Name, Value string }

// serverUser has the hash of its password, or none if that is included from a file.
type serverUser struct{ User, Hash string }

// passwords sets the hashes of the three users' passwords, for those that are given.
func (f *serverFiles) passwords(given map[string]string) {
	user := func(name string) serverUser {
		if password := given[name]; password != "" {
			return serverUser{name, hash(password)}
		}
		return serverUser{User: name}
	}
	f.Admin, f.Projector, f.Query = user(AdminUser), user(ProjectorUser), user(QueryUser)
}

func (f serverFiles) render() (config, users []byte, err error) {
	for _, path := range []*string{&f.Dir, &f.Data, &f.Backups, &f.Users, &f.Logs, &f.Include} {
		*path = xmlText(*path)
	}
	var c, u bytes.Buffer
	if err = configTemplate.Execute(&c, f); err == nil {
		err = usersTemplate.Execute(&u, f)
	}
	return c.Bytes(), u.Bytes(), err
}

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}

func hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// Where a ClickHouse server in a container has its files, and which ports it listens on.
const (
	ContainerConfig = "/etc/preismon/config.xml" // for --config-file
	ContainerUsers  = "/etc/preismon/users.xml"
	ContainerHashes = "/run/secrets/clickhouse-users" // as written by PasswordHashes
	ContainerData   = "/var/lib/clickhouse"

	ContainerTCPPort  = 9000
	ContainerHTTPPort = 8123
)

// ContainerFiles returns the two files of a ClickHouse server in a container,
// whose only databases are preismon's and those of grantAlso, as in
// ClickHouseConfig. They are those of the embedded server, except for its paths
// and addresses, and for the passwords: their hashes are read from
// ContainerHashes.
func ContainerFiles(grantAlso string) (config, users []byte, err error) {
	f := serverFiles{
		LogLevel: "information", Dir: ContainerData, Data: ContainerData, Backups: ContainerData + "/backups", Users: ContainerUsers, Listen: "0.0.0.0", From: "0.0.0.0/0",
		TCPPort: ContainerTCPPort, HTTPPort: ContainerHTTPPort, Include: ContainerHashes, Databases: []string{DefaultDatabase},
	}
	f.passwords(nil)
	if grantAlso != "" {
		f.Databases = append(f.Databases, grantAlso)
	}
	return f.render()
}

// PasswordHashes returns the file at ContainerHashes for the passwords of
// AdminUser, ProjectorUser and QueryUser.
func PasswordHashes(passwords map[string]string) []byte {
	var b strings.Builder
	b.WriteString("<clickhouse>\n")
	for _, user := range []string{AdminUser, ProjectorUser, QueryUser} {
		b.WriteString("    <" + user + ">" + hash(passwords[user]) + "</" + user + ">\n")
	}
	b.WriteString("</clickhouse>\n")
	return []byte(b.String())
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"preismon/contracts/openapi"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

// What the programs of testdata/generated read, in order.
const generatedReads = `createToken
getHealth
listSites
listItems
listAsinLocales
listOrders
getOrder
listObservationQuality
listExports
listExportHistory
listImports
listImportHistory
getResultsCapabilities
listResults
a problem
`

// generated: clients written by third-party generators from the served contract
// compile, and read live answers. With oapi-codegen's client each answer is
// compared with the bytes it came from; that of @hey-api/openapi-ts validates
// each with zod schemas; openapi-typescript's types are checked by the
// compiler.
func (d *demoTest) generated(t *testing.T) {
	effort.Full(t, "generated clients")
	c, account := d.client(t, "anna"), d.account(t, "anna")
	status, document := c.get(openapi.YAMLPath, nil)
	if status != 200 {
		t.Fatalf("%d", status)
	}
	args := []string{c.url, account.LoginIdentifier, account.Password, orderWithFiles(t, c)}

	t.Run("go", func(t *testing.T) {
		dir := t.TempDir()
		r := generatedRun{t, dir}
		r.copyOf("testdata/generated/go", document)
		must.Do(t, os.Mkdir(filepath.Join(dir, "client"), 0o700))
		r.run("go", "tool", "oapi-codegen", "-config", "client.yaml", "openapi.yaml")
		r.reads(append([]string{"go", "run", "."}, args...)...)
	})
	t.Run("typescript", func(t *testing.T) {
		r := generatedRun{t, tools.Scripts(t, "testdata/generated/typescript")}
		r.write("openapi.yaml", document)
		node := tools.Program(t, "node")
		r.run(node, tools.Program(t, "openapi-ts"), "-f", "openapi-ts.config.mjs")
		r.run(node, tools.Program(t, "openapi-typescript"), "openapi.yaml", "-o", "schema.d.ts")
		r.run(node, tools.Program(t, "tsc"), "-p", ".")
		for _, program := range []string{"hey-api.ts", "openapi-fetch.ts"} {
			r.reads(append([]string{node, program}, args...)...)
		}
	})
}

// generatedRun runs programs in a folder.
type generatedRun struct {
	t   *testing.T
	dir string
}

func (r generatedRun) copyOf(folder string, document []byte) {
	r.t.Helper()
	must.Do(r.t, os.CopyFS(r.dir, os.DirFS(folder)))
	r.write("openapi.yaml", document)
}

func (r generatedRun) write(name string, content []byte) {
	r.t.Helper()
	must.Do(r.t, os.WriteFile(filepath.Join(r.dir, name), content, 0o600))
}

// run returns what the command wrote; it must succeed.
func (r generatedRun) run(command ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), command[0], command[1:]...)
	cmd.Dir = r.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%q: %v\n%s%s", command, err, out, stderr.String())
	}
	return string(out)
}

func (r generatedRun) reads(command ...string) {
	r.t.Helper()
	equals.Checkf(r.t, generatedReads, r.run(command...), "%q", command)
}

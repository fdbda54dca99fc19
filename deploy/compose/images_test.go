package compose_test

import (
	"bufio"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/must"
	"preismon/deploy/testserver/tools"
)

const root = "../.." // of the repository

// The test's images. The first two are the final stages of deploy/Dockerfile.
const (
	preismonImage   = "preismon-test/preismon"
	minioImage      = "preismon-test/minio"
	clickHouseImage = "preismon-test/clickhouse"
	natsImage       = "preismon-test/nats"
	prometheusImage = "preismon-test/prometheus"
)

// TestImages leaves behind the images that the tests of other packages use with
// PREISMON_TEST_IMAGES=preismon-test, and starts nothing.
func TestImages(t *testing.T) {
	needsEngine(t)
	if !imagesBuilt {
		buildImages(t)
	}
}

var imagesBuilt bool // in this process

// buildImages builds the four images without pulling any. The base images of
// the build stages are not available here, so their commands run on this
// machine; the engine builds the final stages, which are FROM scratch,
// unchanged.
func buildImages(t *testing.T) (program string) {
	t.Helper()
	work := t.TempDir()
	text := must.Get(os.ReadFile(filepath.Join(root, "deploy/Dockerfile")))(t)
	stages := parseStages(t, string(text))
	sources := sent(t)
	for _, name := range []string{"build", "explorer"} {
		stages[name].runHere(t, sources, work)
	}
	program = filepath.Join(work, "build/usr/bin/preismon")
	static(t, program)
	minio := filepath.Join(work, "minio-build/usr/bin/minio")
	link(t, tools.MinIO(t), minio)
	static(t, minio)
	if want := stages["minio-build"].args["MINIO_VERSION"]; !strings.Contains(run(t, exec.CommandContext(t.Context(), "go", "version", "-m", minio)), want) {
		t.Errorf("deploy/Dockerfile builds MinIO %s, the tests another one", want)
	}

	var file strings.Builder
	for _, name := range []string{"build", "explorer", "minio-build"} {
		fmt.Fprintf(&file, "FROM scratch AS %s\nCOPY %s /out\n", name, name)
	}
	for _, name := range []string{"minio", "preismon"} {
		file.WriteString(stages[name].text)
	}
	write(t, filepath.Join(work, "Dockerfile"), file.String())
	build(t, work, "minio", minioImage)
	build(t, work, "preismon", preismonImage)
	buildStandIns(t)
	imagesBuilt = true
	return program
}

// static fails for a program that needs a loader, because FROM scratch has
// none.
func static(t *testing.T, program string) {
	t.Helper()
	f := must.Get(elf.Open(program))(t)
	defer f.Close() //nolint:errcheck // only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Fatalf("%s is not static", program)
		}
	}
}

// stage is one part of a Dockerfile.
type stage struct {
	name, from, text string
	args             map[string]string
	runs             []string
}

func parseStages(t *testing.T, text string) map[string]*stage {
	t.Helper()
	all := map[string]*stage{}
	var s *stage
	for line := range strings.Lines(text) {
		if m := regexp.MustCompile(`^FROM (\S+) AS (\S+)\n`).FindStringSubmatch(line); m != nil {
			s = &stage{name: m[2], from: m[1], args: map[string]string{}}
			all[s.name] = s
		}
		if s == nil {
			continue
		}
		s.text += line
		if arg, ok := strings.CutPrefix(line, "ARG "); ok {
			name, value, _ := strings.Cut(strings.TrimSpace(arg), "=")
			s.args[name] = value
		}
		if command, ok := strings.CutPrefix(line, "RUN "); ok {
			s.runs = append(s.runs, strings.TrimSpace(command))
		}
	}
	if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, []string{"build", "explorer", "minio", "minio-build", "preismon"}) {
		t.Fatalf("the stages of deploy/Dockerfile are %v", names)
	}
	return all
}

// sent returns a folder with the files of the repository that an engine
// receives for a build.
func sent(t *testing.T) string {
	t.Helper()
	const image = "preismon-test/sources"
	cmd := exec.CommandContext(t.Context(), "docker", "build", "--tag", image, "--file", "-", root)
	cmd.Stdin = strings.NewReader("FROM scratch\nCOPY . /src\nCMD [\"none\"]\n")
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	run(t, cmd)
	id := strings.TrimSpace(docker(t, "create", image))
	defer docker(t, "rm", id)
	to := filepath.Join(t.TempDir(), "src")
	docker(t, "cp", id+":/src", to)
	return to
}

// runHere runs the commands of a stage, with a folder named after it in place
// of /out.
func (s *stage) runHere(t *testing.T, sources, work string) {
	t.Helper()
	for _, command := range s.runs {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(command, "/out", filepath.Join(work, s.name)))
		cmd.Dir = sources
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(work, "build/usr/bin")+":"+os.Getenv("PATH"))
		for name, value := range s.args {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		run(t, cmd)
	}
}

// build builds a target of the folder's Dockerfile.
func build(t *testing.T, folder, target, image string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", "build", "--target", target, "--tag", image, folder)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0") // the only builder that needs neither a plug-in nor a frontend image
	run(t, cmd)
}

// buildStandIns puts this test binary, and the libraries that it loads, into
// two images.
func buildStandIns(t *testing.T) {
	t.Helper()
	work := t.TempDir()
	self := must.Get(os.Executable())(t)
	library := must.Get((&embedded.Library{}).Ensure(t.Context()))(t)
	link(t, self, filepath.Join(work, "base/usr/bin/clickhouse"))
	link(t, library, filepath.Join(work, "library"+libraryInImage))
	for _, name := range []string{"nats-server", "wget"} {
		must.Do(t, os.Symlink("clickhouse", filepath.Join(work, "base/usr/bin", name)))
	}
	for _, file := range needed(t, self, library) {
		link(t, file, filepath.Join(work, "base", file))
	}
	must.Do(t, os.MkdirAll(filepath.Join(work, "data"), 0o755))
	write(t, filepath.Join(work, "Dockerfile"), `FROM scratch AS nats
COPY base /
ENV PATH=/usr/bin
FROM nats AS clickhouse
COPY library /
COPY --chown=101:101 data /var/lib/clickhouse
`)
	build(t, work, "nats", natsImage)
	build(t, work, "clickhouse", clickHouseImage)
}

// buildPrometheus puts Debian's program where the image of Prometheus has its
// own.
func buildPrometheus(t *testing.T) {
	t.Helper()
	work := t.TempDir()
	program := tools.Prometheus(t)
	link(t, program, filepath.Join(work, "base/bin/prometheus"))
	for _, file := range needed(t, program) {
		link(t, file, filepath.Join(work, "base", file))
	}
	must.Do(t, os.MkdirAll(filepath.Join(work, "data"), 0o755))
	write(t, filepath.Join(work, "Dockerfile"), "FROM "+natsImage+` AS prometheus
COPY base /
COPY --chown=65534:65534 data /prometheus
USER 65534:65534
ENTRYPOINT ["/bin/prometheus"]
`)
	build(t, work, "prometheus", prometheusImage)
}

// needed lists the shared libraries of programs, including the loader.
func needed(t *testing.T, files ...string) []string {
	t.Helper()
	all := map[string]bool{}
	for _, file := range files {
		scan := bufio.NewScanner(strings.NewReader(run(t, exec.CommandContext(t.Context(), "ldd", file))))
		for scan.Scan() {
			for word := range strings.FieldsSeq(scan.Text()) {
				if strings.HasPrefix(word, "/") {
					all[word] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// link links a file to another place, or copies it where necessary.
func link(t *testing.T, from, to string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real
	}
	if os.Link(from, to) != nil {
		run(t, exec.CommandContext(t.Context(), "cp", "--reflink=auto", from, to))
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(text), 0o644))
}

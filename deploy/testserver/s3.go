package testserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"preismon/deploy/embedded"
	"preismon/deploy/testserver/effort"
	"preismon/deploy/testserver/tools"
)

// S3Server is an S3 endpoint without TLS, with the name of a bucket that does
// not exist yet and that no other test uses.
type S3Server struct {
	Endpoint  string // host:port
	AccessKey string
	SecretKey string
	Bucket    string
}

var s3Once = sync.OnceValues(startS3)

// S3 returns a new bucket name on a real MinIO. The process has one server. The
// first use on a machine builds it, which takes minutes.
func S3(tb testing.TB) S3Server {
	tb.Helper()
	if os.Getenv(ImagesVariable) == "" {
		effort.Full(tb, "MinIO, which is built first")
	}
	s, err := s3Once()
	if err != nil {
		tb.Fatalf("this test needs an S3 server: %v", err)
	}
	s.Bucket = unique("preismon-test-")
	return s
}

func startS3() (S3Server, error) {
	s := S3Server{AccessKey: "preismon", SecretKey: rand.Text()}
	env := map[string]string{"MINIO_ROOT_USER": s.AccessKey, "MINIO_ROOT_PASSWORD": s.SecretKey}
	img, err := image("minio")
	if err != nil {
		return s, err
	}
	if img != "" {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		_, s.Endpoint, err = container(ctx, img, "9000/tcp", testcontainers.WithEnv(env), testcontainers.WithCmd("server", "/data"),
			testcontainers.WithWaitStrategyAndDeadline(startLimit, wait.ForHTTP("/minio/health/ready").WithPort("9000/tcp")))
		return s, err
	}
	program, err := tools.BuildMinIO()
	if err != nil {
		return s, err
	}
	folder, err := base()
	if err != nil {
		return s, err
	}
	dir := filepath.Join(folder, "minio")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, err
	}
	variables := []string{"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CI_CD=on"} // the last: a root disk is acceptable
	for name, value := range env {
		variables = append(variables, name+"="+value)
	}
	for range 5 { // the port may be taken between choice and use
		var ports []int
		if ports, err = embedded.FreePorts(1); err != nil {
			return s, err
		}
		s.Endpoint = fmt.Sprintf("127.0.0.1:%d", ports[0])
		if err = runMinIO(program, folder, dir, s.Endpoint, variables); err == nil {
			return s, nil
		}
	}
	return s, err
}

func runMinIO(program, folder, dir, address string, env []string) error {
	output := dir + ".log"
	p, err := embedded.StartProcess(embedded.ProcessConfig{
		Program: program, Args: []string{"server", filepath.Join(dir, "data"), "--address", address, "--quiet", "--certs-dir", filepath.Join(dir, "certs")},
		Env: env, LogFile: output, Remove: folder, Grace: serverGrace,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/minio/health/ready", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.Done():
			text, _ := os.ReadFile(output)
			return fmt.Errorf("minio ended while starting: %s", text)
		case <-ctx.Done():
			text, _ := os.ReadFile(output)
			return errors.Join(fmt.Errorf("minio did not get ready: %s", text), p.Stop(context.Background()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

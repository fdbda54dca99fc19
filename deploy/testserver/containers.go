package testserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/testcontainers/testcontainers-go"
)

// images are the public ones, as in docker-compose.yml.
var images = map[string]string{
	"clickhouse": "clickhouse/clickhouse-server:26.7.3",
	"nats":       "nats:2.15.2-alpine",
	"minio":      "preismon-minio:7aac2a2c5b7c",
}

// reaperImage belongs to testcontainers-go and removes containers of killed
// tests. With TESTCONTAINERS_RYUK_DISABLED it is not needed.
const reaperImage = "testcontainers/ryuk:0.14.0"

// image returns the image to start a container of, or "" if a Docker engine, or
// an image, is missing: none is ever pulled. With ImagesVariable that is an
// error instead.
func image(name string) (string, error) {
	prefix := os.Getenv(ImagesVariable)
	needed := []string{images[name]}
	if prefix != "" {
		needed[0] = prefix + "/" + name
	}
	if off, err := strconv.ParseBool(os.Getenv("TESTCONTAINERS_RYUK_DISABLED")); err != nil || !off {
		needed = append(needed, reaperImage)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", append([]string{"image", "inspect", "--format", "{{.Id}}"}, needed...)...).CombinedOutput()
	switch {
	case err == nil:
		return needed[0], nil
	case prefix == "":
		return "", nil
	default:
		return "", fmt.Errorf("%s asks for the images %v: %w\n%s", ImagesVariable, needed, err, out)
	}
}

// container starts a container and returns the address of a port.
func container(ctx context.Context, image, port string, options ...testcontainers.ContainerCustomizer) (testcontainers.Container, string, error) {
	c, err := testcontainers.Run(ctx, image, append(options, testcontainers.WithExposedPorts(port))...)
	if err != nil {
		return nil, "", fmt.Errorf("start a container of %s: %w", image, err)
	}
	address, err := c.PortEndpoint(ctx, port, "")
	if err != nil {
		return nil, "", fmt.Errorf("find the port of the container of %s: %w", image, err)
	}
	return c, address, nil
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// healthCmd is for images, which contain no other program that could send the request.
type healthCmd struct {
	AdminListen string        `help:"The --admin-listen of the role. Default: ${default}." default:"127.0.0.1:8081" placeholder:"HOST:PORT"`
	URL         string        `name:"health-url" help:"URL to request instead of /readyz of the role." placeholder:"URL"`
	Timeout     time.Duration `name:"health-timeout" help:"How long an answer may take." default:"4s"`
}

func (c *healthCmd) Run(ctx context.Context, std streams) error {
	if err := address("admin-listen", c.AdminListen); err != nil {
		return faulty(err)
	}
	url := cmp.Or(c.URL, "http://"+reachable(c.AdminListen)+"/readyz")
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return faulty(fmt.Errorf("health-url: %w", err))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %s", url, resp.Status, body)
	}
	_, err = fmt.Fprintf(std.out, "%s\n", body)
	return err
}

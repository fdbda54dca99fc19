package mcp_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"preismon/deploy/testserver/must"
	"preismon/query/auth"
	"preismon/query/mcp"
)

// A configuration that cannot work is refused with all its faults.
func TestConfig(t *testing.T) {
	good := mcp.Defaults()
	good.BaseURL, good.Build = "https://prices.example.test/app", "v1"
	good.AllowedOrigins = []string{"https://agent.example.test"}
	must.Do(t, good.Validate())
	if good.MaxBodyBytes != 1<<20 || good.MaxResponseBytes != 64<<20 {
		t.Errorf("defaults of %d and %d bytes", good.MaxBodyBytes, good.MaxResponseBytes)
	}
	for name, c := range map[string]struct {
		change func(*mcp.Config)
		fault  string
	}{
		"no base url":           {func(c *mcp.Config) { c.BaseURL = "" }, "base url"},
		"a slash at the end":    {func(c *mcp.Config) { c.BaseURL += "/" }, "base url"},
		"a query":               {func(c *mcp.Config) { c.BaseURL += "?a" }, "base url"},
		"a login":               {func(c *mcp.Config) { c.BaseURL = "https://u@prices.example.test" }, "base url"},
		"another scheme":        {func(c *mcp.Config) { c.BaseURL = "ftp://prices.example.test" }, "base url"},
		"a long base url":       {func(c *mcp.Config) { c.BaseURL += "/" + strings.Repeat("a", 1024) }, "1024"},
		"no build":              {func(c *mcp.Config) { c.Build = "" }, "build"},
		"an origin with a path": {func(c *mcp.Config) { c.AllowedOrigins = []string{"https://a.test/b"} }, "allowed origins"},
		"no proxy":              {func(c *mcp.Config) { c.TrustedProxies = make(auth.Proxies, 1) }, "trusted proxies"},
		"no body":               {func(c *mcp.Config) { c.MaxBodyBytes = 0 }, "max body bytes"},
		"too small answers":     {func(c *mcp.Config) { c.MaxResponseBytes = 1 << 20 }, "max response bytes"},
	} {
		bad := good
		c.change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (mcp.Config{}).Validate(); err == nil || strings.Count(err.Error(), "\n") < 3 {
		t.Errorf("not all faults at once: %v", err)
	}
}

// Missing dependencies are refused.
func TestNewNeedsItsDependencies(t *testing.T) {
	cfg := mcp.Defaults()
	cfg.BaseURL, cfg.Build = baseURL, build
	if _, err := mcp.New(cfg, mcp.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now}); err == nil {
		t.Error("made without a service")
	}
}

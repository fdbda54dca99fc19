// Package otlp sends spans to a collector: OTLP over HTTP with a JSON body
// (OpenTelemetry Protocol 1.x, "OTLP/HTTP", JSON Protobuf encoding). The
// exporter of the SDK would bring gRPC and a gateway into the program, about a
// hundred packages, for the same bytes. What cannot be sent is dropped and
// counted: traces are samples, and nothing waits for them.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Exporter implements the SDK's SpanExporter.
type Exporter struct {
	url    string
	client *http.Client
	log    *slog.Logger

	sent, failed atomic.Uint64
	mu           sync.Mutex
	warned       time.Time
}

// sendTimeout bounds the sending of one batch.
const sendTimeout = 10 * time.Second

// warnEvery bounds how often an unreachable collector is logged.
const warnEvery = time.Minute

// New returns an exporter for a collector, like http://collector:4318. It
// connects when there is something to send.
func New(endpoint string, log *slog.Logger) (*Exporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not like http://host:4318", endpoint)
	}
	return &Exporter{url: strings.TrimSuffix(u.String(), "/") + "/v1/traces", client: &http.Client{Timeout: sendTimeout}, log: log}, nil
}

// Sent returns the number of spans that a collector accepted, Failed the number
// of batches that it did not.
func (e *Exporter) Sent() uint64   { return e.sent.Load() }
func (e *Exporter) Failed() uint64 { return e.failed.Load() }

// ExportSpans sends a batch, once. It returns no error: failures are logged
// here, at most once per warnEvery.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := e.send(ctx, spans); err != nil {
		e.failed.Add(1)
		e.warn(err, len(spans))
		return nil
	}
	e.sent.Add(uint64(len(spans)))
	return nil
}

func (e *Exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(exportOf(spans))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(answer))
	}
	return nil
}

func (e *Exporter) warn(err error, spans int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := time.Now(); now.Sub(e.warned) >= warnEvery {
		e.warned = now
		e.log.Warn("spans were lost: the collector does not take them", "spans", spans, "error", err)
	}
}

// Shutdown implements SpanExporter.
func (e *Exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

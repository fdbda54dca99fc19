package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// File is an archived file of an order during its download.
type File struct {
	Name string // a bare file name, safe to use in a folder
	Size int64  // -1: unknown
	c    *Client
	req  request
	ctx  context.Context // of the download
	tag  string
	body io.ReadCloser
	at   int64
}

// Download requests a file; kind is "exports" or "imports", params those of the
// contract. Read returns its bytes, and resumes interrupted transfers.
func (c *Client) Download(ctx context.Context, kind, orderID string, params url.Values) (*File, error) {
	f := &File{c: c, ctx: ctx, req: request{path: "/v1/orders/" + url.PathEscape(orderID) + "/" + kind + "/history/download", params: params}}
	// Request the bytes of the archive, not a compressed form: only the former
	// can be requested in parts.
	f.req.header = http.Header{"Accept-Encoding": {"identity"}}
	resp, err := c.do(ctx, f.req)
	if err != nil {
		return nil, err
	}
	f.body, f.tag, f.Size = resp.Body, resp.Header.Get("ETag"), resp.ContentLength
	f.Name = fileName(resp.Header.Get("Content-Disposition"))
	return f, nil
}

// fileName extracts the name from Content-Disposition, without any folder and
// without characters that a file system or a terminal could misinterpret.
func fileName(disposition string) string {
	_, params, _ := mime.ParseMediaType(disposition)
	name := path.Base(strings.ReplaceAll(params["filename"], `\`, "/"))
	name = strings.TrimLeft(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name), ".-")
	if name == "" || name == "_" {
		return "download"
	}
	return name
}

// Read implements io.Reader. If the transfer breaks, it resumes at the same byte
// of the same content, or fails.
func (f *File) Read(p []byte) (int, error) {
	for streak := 0; ; streak++ {
		n, err := f.body.Read(p)
		f.at += int64(n)
		if n > 0 {
			return n, nil // an error comes again on the next read
		}
		if err == nil || errors.Is(err, io.EOF) && (f.Size < 0 || f.at == f.Size) {
			return 0, err
		}
		if f.ctx.Err() != nil || f.tag == "" || streak == mostTries {
			return 0, fmt.Errorf("the transfer broke after byte %d: %w", f.at, err)
		}
		f.c.notice("The transfer broke after byte %d. Going on there.", f.at)
		if err := f.c.cfg.Wait(f.ctx, Backoff(streak)); err != nil {
			return 0, err
		}
		if err := f.goOn(); err != nil {
			return 0, err
		}
	}
}

func (f *File) goOn() error {
	_ = f.body.Close() // it is broken
	r := f.req
	r.header = f.req.header.Clone()
	r.header.Set("Range", fmt.Sprintf("bytes=%d-", f.at))
	r.header.Set("If-Range", f.tag)
	resp, err := f.c.do(f.ctx, r)
	if err != nil {
		return err
	}
	f.body = resp.Body
	if resp.StatusCode != http.StatusPartialContent || !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", f.at)) {
		return fmt.Errorf("the transfer broke after byte %d, and the file has changed since: start again", f.at)
	}
	return nil
}

// Close closes the download.
func (f *File) Close() error { return f.body.Close() }

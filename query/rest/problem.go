package rest

import (
	"bytes"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/look"
	"preismon/query/wire"
)

// fail answers a request with an error, and logs it if it is our fault.
func (a *api) fail(c *gin.Context, err error) {
	if u := unsentOf(c.Request); u != nil {
		u.err = err
		return
	}
	p := wire.ProblemOf(err, a.cfg.BaseURL)
	switch {
	case p.Status >= http.StatusInternalServerError && c.Request.Context().Err() != nil:
		panic(http.ErrAbortHandler) // the client left, which caused the failure
	case p.Status == http.StatusInternalServerError:
		a.logFailure(c.Request, slog.LevelError, err)
	case p.Status > http.StatusInternalServerError:
		a.logFailure(c.Request, slog.LevelWarn, err)
	}
	exchangeOf(c.Request).code = p.Code
	a.write(c.Writer, p)
}

// write sends a problem.
func (a *api) write(w http.ResponseWriter, p wire.Problem) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(max(1, seconds(p.RetryAfter)), 10))
	}
	body, err := wire.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

func (a *api) writeJSON(c *gin.Context, v any) error {
	body, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	return a.writeBody(c, body)
}

// writeBody sends a complete JSON answer. One that is too large is refused
// before its first byte.
func (a *api) writeBody(c *gin.Context, body ...[]byte) error {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	if err := errors.Join(a.fits(c, size), exchangeOf(c.Request).hold.Err()); err != nil {
		return err
	}
	send(c, "application/json", body...)
	return nil
}

// fits refuses an answer that is too large.
func (a *api) fits(c *gin.Context, size int) error {
	if size <= a.cfg.MaxResponseBytes {
		return nil
	}
	values, groups := c.Request.URL.Query(), false
	for name := range values {
		groups = groups || strings.HasPrefix(name, "include") && values.Get(name) == "true"
	}
	return fault.New(fault.Invalid, query.CodeResponseTooLarge,
		"The complete response would have %d bytes, at most %d.%s", size, a.cfg.MaxResponseBytes, query.AskForLess(values.Get("limit") != "1", groups))
}

// send sends a complete answer.
func send(c *gin.Context, contentType string, body ...[]byte) {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	h := c.Writer.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(size))
	c.Writer.WriteHeader(http.StatusOK)
	for _, part := range body {
		if _, err := c.Writer.Write(part); err != nil {
			break // a client that does not get all of it notices by the length
		}
	}
}

// meaning is the page of a problem's type.
var meaning = template.Must(template.New("problem").Parse(`<h1>{{.Title}}</h1>
<p class="lead">Status {{.Status}}, code <code>{{.Code}}</code></p>
<p>{{.Remedy}}</p>
<p><a href="../docs#errors">All errors</a></p>
`))

// problemPage explains to people what a problem's type means.
func (a *api) problemPage(c *gin.Context) error {
	name := c.Param("code")
	code := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	m, ok := wire.MeaningOf(code)
	if !ok || wire.PageName(code) != name {
		return fault.New(fault.NotFound, wire.CodeNotFound, "There is no problem of this name.")
	}
	var b bytes.Buffer
	err := meaning.Execute(&b, struct {
		Title, Code, Remedy string
		Status              int
	}{m.Title, code, m.Remedy, m.Status})
	if err != nil {
		return err
	}
	page, err := look.Card{Lang: "en", Title: code, Root: "../", Body: template.HTML(b.String())}.HTML() //nolint:gosec // made by a template
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "public, max-age=3600")
	c.Header("Content-Security-Policy", c.Writer.Header().Get("Content-Security-Policy")+"; style-src 'self'")
	c.Header("Content-Type", "text/html; charset=utf-8")
	c.Writer.WriteHeader(http.StatusOK)
	_, _ = c.Writer.Write(page)
	return nil
}

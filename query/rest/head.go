package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// get serves a path for GET, and for HEAD with the same headers: the server
// omits the body.
func get(e *gin.Engine, path string, h gin.HandlerFunc) {
	e.GET(path, h)
	e.HEAD(path, h)
}

// isHead reports whether the client will not get the body of the answer.
func isHead(c *gin.Context) bool { return c.Request.Method == http.MethodHead }

// takesLimit reports whether an operation accepts a limit of its records.
func takesLimit(op interface{ Parameters() []string }) bool {
	return slices.Contains(op.Parameters(), "limit")
}

// sendHead answers HEAD when the body was not built, so that its length and
// what depends on its records are not known.
func sendHead(c *gin.Context, contentType string) error {
	c.Writer.Header().Set("Content-Type", contentType)
	c.Writer.WriteHeader(http.StatusOK)
	c.Writer.WriteHeaderNow()
	return nil
}

// withoutLength omits the length of an answer to HEAD that GET might get
// compressed, and so with another length.
func withoutLength(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.ContainsAny(r.Header.Get("Accept-Encoding"), "*z") { // gzip, zstd or any
			w = &lengthless{ResponseWriter: w}
		}
		h.ServeHTTP(w, r)
	})
}

type lengthless struct {
	http.ResponseWriter
	began bool
}

func (w *lengthless) WriteHeader(status int) {
	w.began = w.began || status >= 200
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

// Write keeps the body from the server, which would count it.
func (w *lengthless) Write(p []byte) (int, error) {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	return len(p), nil
}

func (w *lengthless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

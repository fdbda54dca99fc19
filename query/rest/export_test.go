package rest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"time"

	"preismon/contracts/openapi"
	"preismon/query"
)

// SendFile sends content as a download does.
func SendFile(w http.ResponseWriter, r *http.Request, e *query.FileEntry, content []byte) (began bool, err error) {
	return sendFile(w, r, e, &fileContent{size: int64(len(content)), open: func(offset int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content[offset:])), nil
	}})
}

// ContentDisposition offers a file under its name.
func ContentDisposition(filename string) string { return contentDisposition(filename) }

// ShortenTails replaces the times of tails, before the first of them: how often
// one without rows reports its progress while the tables move and while they do
// not, and about how long one lasts.
func (s *Surface) ShortenTails(progress, heartbeat, life time.Duration) {
	s.api.tails = tailTimes{progress, heartbeat, life}
}

// Routes lists what is served, as "GET /v1/sites"; a value in a path is in
// braces. HEAD is not listed: it is wherever GET is, except on the stream.
func Routes(docs ...openapi.Document) (all []string) {
	for _, r := range (&api{docs: docs}).routes().Routes() {
		if r.Method != http.MethodHead {
			all = append(all, r.Method+" "+braces(r.Path))
		}
	}
	slices.Sort(all)
	return all
}

func braces(path string) string {
	var b []byte
	open := false
	for i := range len(path) {
		switch {
		case path[i] == ':':
			b, open = append(b, '{'), true
			continue
		case path[i] == '/' && open:
			b, open = append(b, '}'), false
		}
		b = append(b, path[i])
	}
	if open {
		b = append(b, '}')
	}
	return string(b)
}

package rest

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"preismon/contracts/openapi"
)

// document serves a public document to every client, whatever credentials the
// request has, and outside the rate limits (PUB-00a, PUB-00b).
func (a *api) document(d openapi.Document) handler {
	return func(c *gin.Context) error {
		h := c.Writer.Header()
		h.Set("Content-Type", d.MediaType)
		h.Set("Content-Length", strconv.Itoa(len(d.Body)))
		c.Writer.WriteHeader(http.StatusOK)
		_, _ = c.Writer.Write(d.Body)
		return nil
	}
}

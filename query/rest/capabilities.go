package rest

import (
	"github.com/gin-gonic/gin"

	"preismon/query"
)

func (a *api) capabilities(c *gin.Context, p query.Principal) error {
	in := parseParams(c.Request.URL.RawQuery)
	if err := in.err(); err != nil {
		return err
	}
	described, err := a.service.Capabilities(c.Request.Context(), p)
	if err != nil {
		return err
	}
	return a.writeJSON(c, described)
}

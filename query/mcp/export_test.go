package mcp

import (
	"context"
	"log/slog"
	"net/http"
)

// Catalogue is what tests offer instead of the service's own.
type Catalogue = catalogue

// NewWith returns the handler for a catalogue.
func NewWith(cfg Config, deps Deps, c Catalogue) (http.Handler, error) {
	return newHandler(cfg, deps, c)
}

// BudgetOf returns a budget with the given number of bytes left.
func BudgetOf(left int) Budget { return Budget{left} }

// DownloadCost is the formula of the download budget.
func DownloadCost(raw int64) int64 { return 2*4*((raw+2)/3) + downloadReserve }

// Parse returns the number of messages in a body.
func Parse(body []byte) (int, error) {
	p, err := parse(body)
	return len(p.messages), err
}

// Presentable cleans the texts in a JSON value for display.
func Presentable(value []byte) ([]byte, error) { return presentable(value) }

// RefuseSDK logs an error of the SDK as a failed request does.
func RefuseSDK(log *slog.Logger, err error) {
	h := &handler{log: log}
	h.sdkRefusal(&exchange{ctx: context.Background()}, modernVersion, nil, err)
}

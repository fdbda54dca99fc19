package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"preismon/deploy/embedded"
)

// plain is the handler one would write first: clickhouse-go, rows.Scan into a
// struct, encoding/json. It receives its statement with the request.
type plain struct {
	conn   driver.Conn
	server *http.Server
	url    string
}

// plainRow is a row with export fields.
type plainRow struct {
	Item         uint64 `json:"item"`
	Site         string `json:"site"`
	CapturedMs   int64  `json:"captured_ms"`
	Epoch        uint32 `json:"epoch"`
	Seq          uint64 `json:"seq"`
	Capture      uint16 `json:"capture"`
	Offer        uint16 `json:"offer"`
	Outcome      uint8  `json:"outcome_code"`
	Currency     string `json:"currency"`
	Price        int64  `json:"price_minor"`
	Merchant     string `json:"merchant"`
	Shipping     int64  `json:"shipping_minor"`
	IsPrime      uint8  `json:"is_prime"`
	IsBuyBox     uint8  `json:"is_buy_box"`
	Rating       uint8  `json:"rating_tenths"`
	Manufacturer string `json:"manufacturer"`
	Delivery     string `json:"delivery_text"`
	Title        string `json:"title"`
	URL          string `json:"url"`
}

func startPlain(ctx context.Context, w *world) (*plain, error) {
	opt, err := clickhouse.ParseDSN(w.dsn(embedded.QueryUser, w.database))
	if err != nil {
		return nil, err
	}
	conn, err := clickhouse.Open(opt)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &plain{conn: conn, url: "http://" + l.Addr().String()}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() { _ = p.server.Serve(l) }()
	return p, nil
}

func (p *plain) close() {
	_ = p.server.Close()
	_ = p.conn.Close()
}

func (p *plain) serve(w http.ResponseWriter, r *http.Request) {
	err := func() error {
		rows, err := p.conn.Query(r.Context(), r.Header.Get("X-Statement"))
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err tells
		to := bufio.NewWriterSize(w, 64<<10)
		lines := json.NewEncoder(to)
		lines.SetEscapeHTML(false)
		var v plainRow
		for rows.Next() {
			if err := rows.Scan(&v.Item, &v.Site, &v.CapturedMs, &v.Epoch, &v.Seq, &v.Capture, &v.Offer, &v.Outcome, &v.Currency, &v.Price, &v.Merchant,
				&v.Shipping, &v.IsPrime, &v.IsBuyBox, &v.Rating, &v.Manufacturer, &v.Delivery, &v.Title, &v.URL); err != nil {
				return err
			}
			if err := lines.Encode(&v); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return to.Flush()
	}()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// plainly is the task of reading a statement's rows from that handler.
func (r *run) plainly(p *plain, statement string) task {
	return func(ctx context.Context) done {
		d, _ := r.read(ctx, request{base: p.url, header: http.Header{"X-Statement": {strings.ReplaceAll(statement, "\n", " ")}}})
		return d
	}
}

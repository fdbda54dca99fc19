package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// conversation is a session with the SDK that has one request: a Transport and
// its one Connection. Whatever has not reached the client ends with it.
type conversation struct {
	ctx       context.Context // of the POST; the SDK ends the request with it
	request   *jsonrpc.Request
	requested bool

	closing  sync.Once
	closed   chan struct{}
	answered chan *jsonrpc.Response
}

// converse passes one request to the SDK and returns its response. It fails
// only with ctx.
func converse(ctx context.Context, s *sdk.Server, version string, m message) (*jsonrpc.Response, error) {
	id, err := jsonrpc.MakeID(1.0) // our own: the SDK does not keep ids exactly
	if err != nil {
		return nil, err
	}
	c := &conversation{
		ctx: ctx, request: &jsonrpc.Request{ID: id, Method: m.method, Params: m.params},
		closed: make(chan struct{}), answered: make(chan *jsonrpc.Response, 1),
	}
	session, err := s.Connect(ctx, c, &sdk.ServerSessionOptions{State: stateOf(version, m.method)})
	if err != nil {
		return nil, err
	}
	select {
	case r := <-c.answered:
		return r, session.Close()
	case <-c.closed:
		return nil, context.Cause(ctx)
	}
}

// stateOf returns what a legacy session has agreed on before its request;
// modern ones agree on nothing.
func stateOf(version, method string) *sdk.ServerSessionState {
	if version == modernVersion || method == "initialize" {
		return &sdk.ServerSessionState{}
	}
	return &sdk.ServerSessionState{
		InitializeParams: &sdk.InitializeParams{ProtocolVersion: version}, InitializedParams: &sdk.InitializedParams{},
	}
}

// Connect returns the one connection.
func (c *conversation) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// Read returns the request, and then the end when the client has left.
func (c *conversation) Read(context.Context) (jsonrpc.Message, error) {
	if !c.requested {
		c.requested = true
		return c.request, nil
	}
	select {
	case <-c.ctx.Done():
	case <-c.closed:
	}
	return nil, io.EOF
}

var errOneWay = errors.New("mcp: the server asks clients nothing")

// Write passes on the response; notifications are dropped.
func (c *conversation) Write(_ context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.answered <- m
	case *jsonrpc.Request:
		if m.IsCall() {
			return errOneWay
		}
	}
	return nil
}

// Close ends the conversation.
func (c *conversation) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// SessionID is empty: there are no sessions.
func (c *conversation) SessionID() string { return "" }

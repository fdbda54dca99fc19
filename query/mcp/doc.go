// Package mcp serves the query service to AI agents: POST /mcp, JSON-RPC 2.0 in
// the Model Context Protocol. The SDK determines what a method means; this
// package determines what a POST may be, who sends it, in which era, how much
// is answered and in which form. It contains no rules of the domain; those are
// in package query. It keeps nothing between two POSTs and sends clients no
// requests.
//
// # Two eras
//
// A POST belongs to the modern era (2026-07-28) by its header
// MCP-Protocol-Version and to the legacy era (2025-03-26, 2025-06-18,
// 2025-11-25) otherwise. Signs of the modern era without that header are
// refused with 400, and so is every header that contradicts the body (-32020).
// Any other version is refused with 400 and -32022, except in initialize, which
// negotiates.
//
// # Batches
//
// Batches belong to the legacy era, in each of its versions, and have at most
// 100 messages. A batch is accepted as a whole or not at all: an entry that is
// not a message, an id given twice, or initialize within it is 400 for all, and
// nothing runs. Its messages run one after another and are answered in their
// order.
//
// # Statuses
//
// A tool that fails returns a result with isError and the problem object of the
// contract, with status 200. Other failures are JSON-RPC errors, with the
// problem object as their data. One that JSON-RPC has no code for uses the
// status of its problem as its code. A POST of one request whose failure is
// 401, 403, 429 or 503 has that status too. Other failures of a message that is
// understood are 200; but in the modern era an unknown method is 404, and
// invalid params are 400. A batch is always 200.
//
// # Counting
//
// Each request counts as one read of the account, even within a batch. A POST
// without any request counts as one. Over the limit, tools/call returns a tool
// error; another method returns an error with code 429, and HTTP status 429
// unless it is in a batch. Retry-After is on both.
//
// # Behind a proxy
//
// The host of a request must be that of BaseURL, whatever the port. So a proxy
// must pass on the Host that the client requested; X-Forwarded-Host is not
// read. If BaseURL is on loopback, every name of loopback is accepted.
package mcp

// Package mcp serves the query service to AI agents: POST /mcp, JSON-RPC 2.0
// in the Model Context Protocol. What a method means is the SDK's business;
// what a POST may be, who sends it, in which era, how much is answered and in
// which form is decided here. It has no rule of the domain; those are in
// package query. It keeps nothing between two POSTs and asks clients nothing.
//
// # Two eras
//
// A POST is of the modern era (2026-07-28) by its header MCP-Protocol-Version
// and of the legacy era (2025-03-26, 2025-06-18, 2025-11-25) otherwise. Signs
// of the modern era without that header are refused with 400, and so is every
// header that says something else than the body (-32020). A version that is
// none of the four: 400 with -32022, except in initialize, which negotiates.
//
// # Batches
//
// A batch is of the legacy era, in every version of it, and has at most 100
// messages. It is taken as a whole or not at all: one message that is no
// message, an id given twice, or initialize within it is 400 for all, and
// nothing runs. Its messages run one after the other and are answered in their
// order.
//
// # Statuses
//
// A tool that fails gives a result with isError and the problem object of the
// contract, with status 200. Other failures are errors of JSON-RPC, with the
// problem object as their data. One that JSON-RPC has no code for has the status
// of its problem as its code. A POST of one request whose failure is 401, 403,
// 429 or 503 has that status too. Other failures of a message that is
// understood are 200; but in the modern era a method that is not known is 404,
// and params that are not valid are 400. A batch is always 200.
//
// # Counting
//
// Each request counts as one read of the account, also within a batch. A POST
// without any request counts as one. Over the limit tools/call gives a tool
// error; another method an error with code 429, and HTTP status 429 unless it
// stands in a batch. Retry-After stands on both.
//
// # Behind a proxy
//
// The host of a request must be that of BaseURL, whatever the port. So a proxy
// must hand on the Host that it was asked for; X-Forwarded-Host is not read.
// When BaseURL is on loopback, every name of loopback will do.
package mcp

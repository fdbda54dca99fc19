// Package openapi holds the public contract as a machine-readable document.
// openapi.yaml is the source and is written by hand; the tests of the REST
// surface check each of their requests and responses against it.
package openapi

import _ "embed"

// Version is the version of the contract: info.version of the document. It
// says nothing about the build that serves it.
const Version = "1.00"

//go:embed openapi.yaml
var document []byte

// YAML gives the document; it must not be changed.
func YAML() []byte { return document }

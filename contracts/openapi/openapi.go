// Package openapi holds the public contract as documents. openapi.yaml is the
// source and is written by hand, as are the changelog, llms.txt and the text
// around the reference; the JSON form, the small documents by use, the Postman
// collection and the tables of llms-full.txt are derived from the source when
// the program first needs them. The tests of the REST surface check each of their requests and
// responses against the source.
//
// In the sources {base_url} stands for the address where clients reach the
// service: no host is part of the contract.
package openapi

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Paths of the public documents.
const (
	YAMLPath      = "/openapi/openapi.yaml"
	JSONPath      = "/openapi/openapi.json"
	ChangelogPath = "/openapi/CHANGELOG.md"
	PostmanPath   = "/openapi/postman/preismonitoring-rest-read.postman_collection.json"
	LLMsPath      = "/llms.txt"
	LLMsFullPath  = "/llms-full.txt"
)

//go:embed openapi.yaml
var document []byte

//go:embed CHANGELOG.md
var changelog string

//go:embed llms.txt
var orientation string

//go:embed llms-full.md
var referenceText string

// Version returns the version of the contract, info.version of the document. It
// says nothing about the build that serves it.
var Version = sync.OnceValue(func() string {
	c, err := parsed()
	if err != nil {
		panic(err) // a mistake in an embedded file
	}
	return c.version()
})

// YAML returns the document with {base_url} not filled in; callers must not modify it.
func YAML() []byte { return document }

// Document is a public document as it is served.
type Document struct {
	Path, MediaType string
	Body            []byte
}

// Documents returns the public documents of a service that clients reach at
// base, a URL that Config of the surface accepts.
func Documents(base string) ([]Document, error) {
	sources, err := derived()
	if err != nil {
		return nil, err
	}
	all := make([]Document, len(sources))
	for i, s := range sources {
		all[i] = Document{s.path, s.mediaType, []byte(strings.ReplaceAll(s.text, "{base_url}", base))}
	}
	return all, nil
}

// source is a document before the base URL is known.
type source struct{ path, mediaType, text string }

// parsed is the document as a tree.
var parsed = sync.OnceValues(func() (*contract, error) {
	c, err := parse(document)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return c, nil
})

var derived = sync.OnceValues(func() ([]source, error) {
	c, err := parsed()
	if err != nil {
		return nil, err
	}
	asJSON, err := encode(c.root)
	if err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	ext, err := extended()
	if err != nil {
		return nil, err
	}
	extYAML, err := ExtYAML()
	if err != nil {
		return nil, fmt.Errorf("ext.yaml: %w", err)
	}
	extJSON, err := encode(ext.root)
	if err != nil {
		return nil, fmt.Errorf("ext.json: %w", err)
	}
	collection, err := postman(c, ext)
	if err != nil {
		return nil, fmt.Errorf("postman collection: %w", err)
	}
	reference, err := c.reference(ext, referenceText)
	if err != nil {
		return nil, fmt.Errorf("llms-full.txt: %w", err)
	}
	parts, err := c.partDocuments()
	if err != nil {
		return nil, err
	}
	const text = "text/plain; charset=utf-8"
	return append([]source{
		{YAMLPath, "application/yaml", string(document)},
		{JSONPath, "application/json", asJSON},
		{ChangelogPath, text, changelog},
		{ExtYAMLPath, "application/yaml", string(extYAML)},
		{ExtJSONPath, "application/json", extJSON},
		{ExtChangelogPath, text, extChangelog},
		{PostmanPath, "application/json", collection},
		{LLMsPath, text, orientation},
		{LLMsFullPath, text, reference},
	}, parts...), nil
})

package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"preismon/contracts/openapi"
)

// Problem checks the strict problem object (ERR-F1 to ERR-F8).
func Problem(body []byte) error {
	return Value("Problem", body)
}

// Value checks one JSON value against a schema of the document.
func Value(schema string, body []byte) error {
	compiled, err := schemaOf(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%q: %w", body, err)
	}
	return compiled.Validate(value)
}

var (
	schemas  sync.Map // by name
	compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
		ext, err := openapi.ExtYAML()
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		for name, source := range map[string][]byte{baseName: openapi.YAML(), extName: ext} {
			var doc any
			if err := yaml.Unmarshal(source, &doc); err != nil {
				return nil, err
			}
			asJSON, err := json.Marshal(doc)
			if err != nil {
				return nil, err
			}
			parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
			if err != nil {
				return nil, err
			}
			if err := c.AddResource(name, parsed); err != nil {
				return nil, err
			}
		}
		return c, nil
	})
	compiling sync.Mutex
)

const baseName, extName = "openapi.json", "ext.json"

// schemaOf compiles a schema; schemas of OpenAPI 3.1 are JSON Schema 2020-12.
// Streams have many lines, and this is the fast validator.
func schemaOf(name string) (*jsonschema.Schema, error) {
	if s, ok := schemas.Load(name); ok {
		return s.(*jsonschema.Schema), nil
	}
	compiling.Lock()
	defer compiling.Unlock()
	c, err := compiler()
	if err != nil {
		return nil, err
	}
	document := baseName
	if Document().Components.Schemas[name] == nil {
		document = extName
	}
	s, err := c.Compile(document + "#/components/schemas/" + name)
	if err != nil {
		return nil, err
	}
	schemas.Store(name, s)
	return s, nil
}

package rest

import "preismon/contracts/openapi"

// Routes lists what is served, as "GET /v1/sites"; a value in a path stands
// in braces.
func Routes(docs []openapi.Document) (all []string) {
	for _, r := range (&api{docs: docs}).routes().Routes() {
		all = append(all, r.Method+" "+braces(r.Path))
	}
	return all
}

func braces(path string) string {
	var b []byte
	open := false
	for i := range len(path) {
		switch {
		case path[i] == ':':
			b, open = append(b, '{'), true
			continue
		case path[i] == '/' && open:
			b, open = append(b, '}'), false
		}
		b = append(b, path[i])
	}
	if open {
		b = append(b, '}')
	}
	return string(b)
}

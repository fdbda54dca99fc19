package wire

import "preismon/query"

// Arguments are the parameters of a request as the members of a JSON object.
type Arguments map[string]any

// ResultsArguments returns the arguments from which DecodeResults builds a
// request: only those that are needed, so values that are not given are absent.
func ResultsArguments(r query.ResultsRequest) Arguments {
	return r.Parameters()
}

package wire

import "preismon/query"

// Arguments are the parameters of a request as the members of a JSON object.
type Arguments map[string]any

// ResultsArguments are the arguments that DecodeResults makes a request of:
// the shortest, so what is not given is not in them.
func ResultsArguments(r query.ResultsRequest) Arguments {
	return r.Parameters()
}

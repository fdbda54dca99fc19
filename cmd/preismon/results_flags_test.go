package main

import (
	"reflect"
	"slices"
	"testing"

	"preismon/query"
)

// TestResultFlags: the command line has a flag for each parameter of results,
// and no others.
func TestResultFlags(t *testing.T) {
	var flags []string
	for field := range reflect.TypeFor[resultFlags]().Fields() {
		if field.Name != "Include" {
			flags = append(flags, parameterOf(field.Name))
		}
	}
	for _, parameter := range includes {
		flags = append(flags, parameter)
	}
	var parameters []string
	for _, p := range query.ResultsParameters {
		if p.Kind != query.PageParameter { // a command walks all pages
			parameters = append(parameters, p.Name)
		}
	}
	slices.Sort(flags)
	slices.Sort(parameters)
	if !slices.Equal(flags, parameters) {
		t.Errorf("flags:\n%q\nparameters:\n%q", flags, parameters)
	}
}

package main

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"preismon/query"
)

// resultFlags are the parameters of GET /v1/results: a flag for each one in
// query.ResultsParameters, and Include for those that add a group of fields.
// Pages have no flag, as a command reads all of them. newCLI makes the flags.
type resultFlags struct {
	kong.Plugins
	Include []string `help:"Further fields: ${enum}." enum:"coverage,order-ids,customer-data,export-fields,identity" env:"-" placeholder:"GROUP"`
}

// includes are the parameters of the field groups.
var includes = map[string]string{
	"coverage": "includeCoverage", "order-ids": "includeOrderIds", "customer-data": "includeCustomerData",
	"export-fields": "includeExportFields", "identity": "includeIdentity",
}

// flagKinds are the kinds of parameters that have flags, in the order of the help.
var flagKinds = []query.ParameterKind{
	query.SelectorParameter, query.ScopeParameter, query.WindowParameter, query.FormParameter, query.FilterParameter, query.LatestParameter,
}

// parameterFlags returns a pointer to a struct from which kong makes the flags of
// results.
func parameterFlags() any {
	var fields []reflect.StructField
	for _, kind := range flagKinds {
		for _, p := range query.ResultsParameters {
			if p.Kind == kind {
				fields = append(fields, flagField(p))
			}
		}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// flagField returns the field from which kong makes a flag. A boolean that may
// also be false is a text, like all other values, which the server parses.
func flagField(p query.Parameter) reflect.StructField {
	f := reflect.StructField{Name: strings.ToUpper(p.Name[:1]) + p.Name[1:], Type: reflect.TypeFor[string]()}
	help := strings.TrimSuffix(p.Help, ".")
	if p.Kind == query.WindowParameter {
		f.Type, help = reflect.TypeFor[instant](), help+", or like now-7d"
	}
	if p.Requires != "" {
		help += "; needs --" + dashed(p.Requires)
	}
	if p.Values != nil {
		help += ": " + strings.Join(p.Values, ", ")
	}
	help += "."
	if p.Alias != "" {
		help += " Also --" + p.Alias + "."
	}
	tag := fmt.Sprintf(`help:%q env:"-"`, help)
	if p.Alias != "" {
		tag += fmt.Sprintf(` aliases:%q`, p.Alias)
	}
	values, placeholder := p.Values, cmp.Or(p.Placeholder, "TEXT")
	switch p.Field(new(query.ResultsRequest)).(type) {
	case *bool:
		f.Type, placeholder = reflect.TypeFor[bool](), ""
	case **bool:
		values, placeholder = []string{"true", "false"}, "BOOL"
	}
	if placeholder != "" {
		tag += fmt.Sprintf(` placeholder:%q`, placeholder)
	}
	if values != nil {
		tag += fmt.Sprintf(` enum:",%s" default:""`, strings.Join(values, ","))
	}
	f.Tag = reflect.StructTag(tag)
	return f
}

// dashed returns the name of a parameter's flag: item-id for itemId.
func dashed(parameter string) string {
	return strings.ToLower(capital.ReplaceAllString(parameter, "-$0"))
}

var capital = regexp.MustCompile(`[A-Z]`)

// params returns the parameters for the flags that are given.
func (f *resultFlags) params() url.Values {
	p := url.Values{}
	for _, flags := range f.Plugins {
		p = parametersOf(reflect.ValueOf(flags).Elem().Interface())
	}
	for _, group := range f.Include {
		p.Set(includes[group], "true")
	}
	return p
}

// parametersOf returns the flags of a command that are given, by the names of
// their fields: itemId for ItemID. Of lists and groups of flags, only the group
// that selects the scope has parameters.
func parametersOf(flags any) url.Values {
	p := url.Values{}
	var add func(flags reflect.Value)
	add = func(flags reflect.Value) {
		for field, value := range flags.Fields() {
			switch {
			case field.Type == reflect.TypeFor[scopeFlags]():
				add(value)
			case value.Kind() != reflect.Slice && value.Kind() != reflect.Struct && !value.IsZero():
				p.Set(strings.ReplaceAll(strings.ToLower(field.Name[:1])+field.Name[1:], "ID", "Id"), fmt.Sprint(value))
			}
		}
	}
	add(reflect.ValueOf(flags))
	return p
}

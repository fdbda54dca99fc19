package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/query"
)

// offer lists what the service offers agents.
func offer(s *query.Service) (catalogue, error) {
	c := catalogue{Instructions: instructions, Prompts: prompts(s), Resources: resources(s)}
	for _, t := range tools() {
		input, err := t.input()
		if err != nil {
			return catalogue{}, err
		}
		answer, err := t.answer()
		if err != nil {
			return catalogue{}, fmt.Errorf("mcp: %s: %w", t.name, err)
		}
		if t.records != nil {
			orTable(answer)
		}
		run := t.run
		c.Tools = append(c.Tools, Tool{
			Descriptor: sdk.Tool{Name: t.name, Title: t.title, Description: t.about, InputSchema: input, OutputSchema: answer}, Heavy: t.heavy,
			Run: func(ctx context.Context, call Call) (Result, error) {
				call, err := t.withFields(call)
				if err != nil {
					return Result{}, err
				}
				r, err := run(ctx, s, call)
				if err != nil {
					f, ok := errors.AsType[*failureOf](err)
					if !ok {
						f = &failureOf{error: err}
					}
					f.tool = &t
					return r, f
				}
				return paged(ctx, s, call, t, r), nil
			},
		})
	}
	return c, nil
}

package querier

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
)

// missing returns an error that says which types there are, if a question selects no profile. go tool pprof would say no more than
// that a profile is empty. Values that cancel out are no error.
func missing(ctx context.Context, v source.View, p *question.Parameters, t profile.Type) error {
	selected, err := v.Sources(ctx, profile.Query{Selector: p.Query.Selector, From: p.Query.From, To: p.Query.To, MaxBytes: p.Query.MaxBytes})
	if err != nil || slices.ContainsFunc(selected, func(s profile.Source) bool { return p.Type == "" || t.Includes(s.Type) }) {
		return err
	}
	if len(selected) > 0 {
		return fault.Missing("no selected profile has the type %s, they have: %s", fault.Quoted(p.Type), typesOf(selected))
	}
	all, err := v.Sources(ctx, profile.Query{MaxBytes: p.Query.MaxBytes})
	if err != nil {
		return err
	}
	return fault.Missing("no profile is selected by the selector and the times; over all, types are: %s", typesOf(all))
}

// typesOf returns the first sample types of sources, for people.
func typesOf(sources []profile.Source) string {
	const most = 20
	var names []string
	for _, s := range sources {
		if name := s.Type.Sample + ":" + s.Type.SampleUnit; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

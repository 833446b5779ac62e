package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

const gaugesHelp = `Values measured at an instant, such as the heap in use, are means over the times
of the profiles whose labels, except file, are equal, and the means are added
up. Give different programs different labels (--label, folders NAME=VALUE).
--sum adds up all values, as go tool pprof does.`

// merged is the merge of a query's profiles for one sample type.
type merged struct {
	*profile.Stacks
	means
}

// means describes means of a gauge. The zero value means that values are sums.
type means struct {
	over    int // number of times of the source with the most times
	sources int
}

// merge merges a query's profiles for one sample type.
func merge(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (*merged, error) {
	stacks, err := db.Merge(ctx, snap, t, q)
	if err != nil {
		return nil, err
	}
	means, err := findMeans(ctx, db, snap, q, t)
	if err != nil {
		return nil, err
	}
	return &merged{stacks, means}, nil
}

// findMeans returns the description of the means in answers about a type. It ignores samples that the query
// excludes.
func findMeans(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (means, error) {
	if q.SumGauges || !t.IsGauge() {
		return means{}, nil
	}
	q.Function, q.Frames, q.Hide, q.Show = nil, nil, nil, nil
	infos, err := db.Profiles(ctx, snap, t, q)
	if err != nil {
		return means{}, err
	}
	times := map[string]map[int64]bool{} // the times of each source
	over := 0
	for _, p := range infos {
		source := fmt.Sprintf("%q", slices.DeleteFunc(p.Labels, func(l profile.Label) bool { return l.Name == labelFile }))
		if times[source] == nil {
			times[source] = map[int64]bool{}
		}
		times[source][p.Time] = true
		over = max(over, len(times[source]))
	}
	if over < 2 {
		return means{}, nil
	}
	return means{over, len(times)}, nil
}

func (m means) String() string {
	if m.sources == 1 {
		return fmt.Sprintf("means over %d times; --sum adds them up", m.over)
	}
	return fmt.Sprintf("means over up to %d times, added up over %d sets of labels; --sum adds up all", m.over, m.sources)
}

// printMeans prints that values are means, if they are.
func (m means) printMeans(p *cli.Printer) {
	if m.over > 0 {
		p.Printf("The values are %s.\n", m)
	}
}

// noteMeans reports on standard error that a type's values in an output file are means.
func noteMeans(cmd *cobra.Command, t profile.Type, m means) {
	if m.over > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s: %s\n", typeName(t), m)
	}
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

const gaugesHelp = `Values measured at an instant, such as the heap in use, are means over the times
of the profiles whose labels, except file, are equal. --sum adds them up, as go
tool pprof does.`

// merged is the merge of the profiles of a query for one sample type.
type merged struct {
	*profile.Stacks
	span
	over int // times that the values are means over, 0 for sums
}

// mergeType merges the profiles of a query for the named sample type.
func mergeType(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (*merged, error) {
	t, err := findType(ctx, db, snap, q, name)
	if err != nil {
		return nil, err
	}
	return merge(ctx, db, snap, q, t)
}

func merge(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (*merged, error) {
	stacks, err := db.Merge(ctx, snap, t, q)
	if err != nil {
		return nil, err
	}
	infos, err := db.Profiles(ctx, snap, t, q)
	if err != nil {
		return nil, err
	}
	m := &merged{Stacks: stacks, span: spanOf(infos)}
	m.over = m.meanOver(t, q)
	return m, nil
}

// meanOver returns the number of times that the answers about a type are means over, 0 if they
// are sums. Sources with fewer profiles have means over fewer times.
func (s span) meanOver(t profile.Type, q profile.Query) int {
	if s.times < 2 || q.SumGauges || !t.IsGauge() {
		return 0
	}
	return s.times
}

// meanText says that values are means.
func meanText(over int) string {
	return fmt.Sprintf("means over %d times; --sum adds them up", over)
}

// printMean prints the line that says that values are means, if they are.
func (m *merged) printMean(p *cli.Printer) {
	if m.over > 0 {
		p.Printf("The values are %s.\n", meanText(m.over))
	}
}

// noteMeans reports on standard error that the values of a type in an output file are means.
func noteMeans(cmd *cobra.Command, t profile.Type, over int) {
	if over > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s: %s\n", typeName(t), meanText(over))
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

func newPeek() *cobra.Command {
	var s selection
	var show cli.Limit
	var order ordering
	var asJSON, withLines bool
	cmd := &cobra.Command{
		Use:   "peek [flags] REGEX INPUT...",
		Short: "Show the callers and callees of functions",
		Long: `peek merges the profiles and shows each function whose name matches REGEX
between its callers and its callees, as go tool pprof -peek does:

  flat, cum   the function itself; the function and its callees
  caller      the value of the stacks in which the caller calls the function
  callee      the value of the stacks in which the function calls the callee

Percentages of callers and callees are shares of the function's cum. A stack in
which a call recurs counts once, so they can add up to more than 100%. Calls of
a function to itself are left out. If no function matches, the exit code is 1.

--lines adds the lines of the function in its source files, each with flat and
cum. granary view --sources shows their text beside them.

` + choiceHelp + `

` + kindsHelp + `

` + askedHelp,
		Example: `  granary demo --span 2m --profiles gen       # profiles for the lines below
  granary peek --sample-index cpu 'mallocgc$' gen
  granary peek --sample-index cpu --cum -n 3 '^main[.]' gen
  granary peek --json --sample-index cpu 'gcBgMarkWorker$' gen | jq '.total'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 && (len(args) == 0 || len(s.db) == 0) {
				return cli.Usage(errors.New("name a function as a regular expression, and after it at least one profile"))
			}
			return inputs(cmd, args[1:])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern, err := compile("", args[0])
			if err != nil {
				return err
			}
			missed := false
			err = withType(cmd, s, args[1:], func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) error {
				stacks, err := merge(ctx, db, snap, q, t)
				if err != nil {
					return err
				}
				found := peekFound{stacks: stacks}
				found.find(pattern, &order, show.Of(asJSON))
				err = found.write(ctx, cmd.OutOrStdout(), withLines, asJSON)
				if missed = stacks.Len() > 0 && found.all == 0; err != nil || stacks.Len() > 0 {
					return err
				}
				return s.noteEmpty(ctx, cmd, db, snap, q, true, stacks.Type)
			})
			if err == nil && missed {
				err = fmt.Errorf("no function matches %s", args[0])
			}
			return err
		},
	}
	s.flags(cmd, firstShown)
	s.answerFlags(cmd)
	show.Flags(cmd, "", 10, "show the first `N` functions")
	order.flags(cmd)
	cmd.Flags().BoolVar(&withLines, "lines", false, "also show the cost of each line of a function's source")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: values are integers in the unit named in it")
	return cmd
}

// peekFound is the answer of peek.
type peekFound struct {
	stacks    *merged
	functions []peeked
	all       int // number of functions that match
}

// peeked is a function with its callers and callees.
type peeked struct {
	profile.Function
	Callers []profile.Call `json:"callers"`
	Callees []profile.Call `json:"callees"`
	Lines   []peekedLine   `json:"lines,omitempty"` // with --lines
}

// peekedLine is a line of a function. File and Line are "" and 0 if they are not known.
type peekedLine struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	Flat int64  `json:"flat"`
	Cum  int64  `json:"cum"`
}

// find finds the matching functions, in order: the first n, or all if n is 0.
func (f *peekFound) find(pattern *regexp.Regexp, order *ordering, n int) {
	f.functions = []peeked{}
	matching := slices.DeleteFunc(f.stacks.Top(), func(g profile.Function) bool { return !pattern.MatchString(g.Name) })
	slices.SortFunc(matching, func(a, b profile.Function) int {
		return order.compare(a.Flat, a.Cum, a.Name, b.Flat, b.Cum, b.Name)
	})
	f.all = len(matching)
	for _, g := range cli.First(matching, n) {
		around := f.stacks.Sandwich(g.Name)
		callers, callees := append([]profile.Call{}, around.Callers...), append([]profile.Call{}, around.Callees...) // not nil
		f.functions = append(f.functions, peeked{Function: around.Function, Callers: callers, Callees: callees})
	}
}

// write prints the functions, with their lines if they are asked for.
func (f *peekFound) write(ctx context.Context, w io.Writer, withLines, asJSON bool) error {
	if withLines {
		if err := f.findLines(ctx); err != nil {
			return err
		}
	}
	if asJSON {
		return f.printJSON(w)
	}
	return f.print(w)
}

// findLines finds the lines of the functions.
func (f *peekFound) findLines(ctx context.Context) error {
	for i := range f.functions {
		g := &f.functions[i]
		lines, err := tree.Lines(ctx, g.Name, 0, f.stacks.Stacks)
		if err != nil {
			return err
		}
		for _, l := range lines {
			g.Lines = append(g.Lines, peekedLine{l.File, l.Line, l.Self[0], l.Total[0]})
		}
	}
	return nil
}

func (f *peekFound) printJSON(w io.Writer) error {
	return cli.PrintJSON(w, struct {
		SampleType string   `json:"sample_type"`
		Unit       string   `json:"unit"`
		Total      int64    `json:"total"`
		Magnitude  int64    `json:"magnitude"`
		MeanOver   int      `json:"mean_over_times"`
		Functions  []peeked `json:"functions"`
	}{f.stacks.Type.Sample, f.stacks.Type.SampleUnit, f.stacks.Total, f.stacks.Magnitude, f.stacks.over, f.functions})
}

func (f *peekFound) print(w io.Writer) error {
	unit := f.stacks.Type.SampleUnit
	p := cli.Printer{W: w}
	p.Printf("Type: %s, total %s\n", typeText(f.stacks.Type), profile.FormatValue(f.stacks.Total, unit))
	switch {
	case f.stacks.Len() == 0:
		p.Printf("%s\n", noSamples)
		return p.Err
	case f.all == 0:
		return p.Err
	}
	f.stacks.printMeans(&p)
	p.Printf("Showing %d of %d functions that match\n", len(f.functions), f.all)
	calls := func(what string, calls []profile.Call, cum int64) {
		for _, c := range calls {
			p.Printf("%12s %8s  %s %s\n", profile.FormatValue(c.Value, unit), percent(c.Value, cum), what, p.Name(c.Name, 32))
		}
	}
	for _, g := range f.functions {
		p.Printf("\n")
		calls("caller  ", g.Callers, g.Cum)
		p.Printf("%12s %8s  %s\n", profile.FormatValue(g.Cum, unit), percent(g.Cum, f.stacks.Magnitude), p.Name(g.Name, 23))
		p.Printf("%12s %8s  flat\n", profile.FormatValue(g.Flat, unit), percent(g.Flat, g.Cum))
		calls("  callee", g.Callees, g.Cum)
		for _, l := range g.Lines {
			where := fmt.Sprintf("%s:%d", cmp.Or(l.File, "?"), l.Line)
			p.Printf("%12s %8s  line     %10s flat  %s\n", profile.FormatValue(l.Cum, unit), percent(l.Cum, g.Cum), profile.FormatValue(l.Flat, unit), p.Name(where, 50))
		}
	}
	return p.Err
}

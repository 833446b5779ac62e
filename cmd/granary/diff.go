package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/formats"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/render"
)

// diffOptions holds the flags of diff.
type diffOptions struct {
	selection
	limit     cli.Limit
	order     ordering
	normalize bool
	scale     float64 // factor for the values of B; 0 if it is not set
	output    string
	format    string // format of output
	width     int
	asJSON    bool
}

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Compare two profiles, or two directories of them",
		Long: `diff merges the profiles of A, the base, and those of B separately. It lists
functions by the change of their cost from A to B, as go tool pprof -diff_base=A
-top B does. The order is that of flat, or that of --sort or --cum:

  flat   change of the function itself           flat%  as a share of A's total
  cum    change of the function and its callees  cum%   as a share of A's total

A positive change means that B costs more. If A has negative values, percentages
are shares of the sum of its stacks' absolute values, which is then printed.

A and B are one input each: a file, a directory, an http URL, host:port, or -
for standard input. --db DIR, a directory that granary load filled, stands for
A, and a second --db for B. The flags that choose samples, frames and times
apply to both. A time such as latest-1h counts from the newest profile of each
side.

If the totals differ, as those of a longer and a shorter profile do, every
function differs. --normalize scales the values of B to the total of A, as go
tool pprof -normalize does. The difference then shows how the functions' shares
changed. --scale multiplies the values of B by a factor: 0.5 if B is twice as
long as A, 0.75 if it is of 4 pods and A of 3.

-o draws the difference as a flame graph instead of a table: one tree of the
call paths of A and B. The width of a frame is its cost in A and B together. Its
colour is the change: orange-red costs more in B, blue-green less, grey the
same. The change is also written on the frame: +50%, −50%, new or gone. If the
name of the file ends in .json, or with --format json, it has the tree of both
sides, as flamegraph --help describes.

` + kindsHelp,
		Example: `  granary diff before.pb.gz after.pb.gz
  granary diff --normalize monday/ tuesday/
  granary diff --db profiles.db after.pb.gz
  granary diff -o diff.svg heap.pb.gz http://localhost:6060/debug/pprof/heap
  granary diff --json a.pb.gz b.pb.gz | jq '.functions[] | select(.flat > 0)'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(o.db) == 2 {
				return insteadOfInputs(cmd, args, 2)
			}
			if len(o.db)+len(args) != 2 {
				return cli.Usage(fmt.Errorf("diff compares two inputs, A and B, not %d: each is a file, a directory, an http URL, host:port, - for standard input, or --db DIR", len(o.db)+len(args)))
			}
			return checkInputs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return diff(cmd, &o, args)
		},
	}
	o.flags(cmd, "the default type of the first profile of A with samples")
	o.answerFlags(cmd)
	o.limit.Flags(cmd, "nodes", 20, "show the first `N` functions")
	o.order.flags(cmd)
	cmd.Flags().BoolVar(&o.normalize, "normalize", false, "scale B to the total of A")
	cmd.Flags().Var(cli.NewFactor(&o.scale), "scale", "multiply the values of B by `FACTOR`, such as 0.5")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to draw a flame graph to, as SVG; - is standard output")
	treeFormatFlag(cmd, &o.format)
	widthFlag(cmd, &o.width)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: values are integers in the unit named in it")
	return cmd
}

// check returns a usage error for contradictory flags.
func (o *diffOptions) check(args []string) error {
	if o.normalize && o.scale != 0 {
		return cli.Usage(errors.New("--normalize and --scale: choose one"))
	}
	if o.asJSON && o.output != "" {
		return cli.Usage(errors.New("-o draws a flame graph and --json prints a table: choose one"))
	}
	if o.format != "" && o.output == "" {
		return cli.Usage(errors.New("--format is that of the file of -o, which is missing"))
	}
	return cmp.Or(spareProfiles(o.output, args), checkTreeOutput(o.format, o.output))
}

// diff compares the two inputs.
func diff(cmd *cobra.Command, o *diffOptions, args []string) error {
	var sides [2]*merged
	var kinds [2][]profile.ProfileKind
	var failed error
	args = slices.Concat(o.db, args)
	for i, arg := range args {
		chosen := o.selection
		chosen.side = cli.Printable(arg) + ": "
		inputs := []string{arg}
		if chosen.db = nil; i < len(o.db) {
			chosen.db, inputs = inputs, nil
		}
		err := withInputs(cmd, chosen, inputs, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
			name := o.sampleIndex
			if i == 1 && name == "" {
				name = sides[0].Type.Sample + ":" + sides[0].Type.SampleUnit
			}
			asked := q
			chosen.sampleIndex = name
			t, q, err := chosen.choose(ctx, db, snap, q)
			if err == nil {
				sides[i], err = merge(ctx, db, snap, q, t)
			}
			switch {
			case i == 1 && errors.Is(err, profile.ErrUnknownType):
				// A has the type: a mismatch of A and B, not a usage error.
				return fmt.Errorf("%s: %s; %s has %s, choose a type of both with --sample-index", arg, err.Error(), args[0], typeName(sides[0].Type))
			case err != nil:
				return fmt.Errorf("%s: %w", arg, err)
			case sides[i].Len() == 0:
				return chosen.noteEmpty(ctx, cmd, db, snap, q, o.output == "", sides[i].Type)
			}
			if kinds[i], err = kindsOf(ctx, db, snap, q, sides[i].Type); err != nil {
				return err
			}
			return chosen.noteLeftOut(ctx, cmd, db, snap, asked, q, t)
		})
		if cli.WasTold(err) {
			failed = err // continue with the readable profiles
		} else if err != nil {
			return err
		}
	}
	if err := checkSides(sides[0].Type, kinds[0], kinds[1]); err != nil && !o.sumKinds {
		return err
	}
	d, err := compare(sides[0], sides[1], o)
	if err != nil {
		return err
	}
	slices.SortFunc(d.functions, func(a, b profile.FunctionChange) int {
		return o.order.compare(a.Flat, a.Cum, a.Name, b.Flat, b.Cum, b.Name)
	})
	w, n := cmd.OutOrStdout(), o.limit.Of(o.asJSON)
	switch {
	case o.output != "":
		err = cli.WriteOutput(cmd, o.output, func(w io.Writer) error {
			if isTreeJSON(o.format, o.output) {
				return formats.WriteTree(cmd.Context(), w, formats.Tree{IsMean: d.typ.IsGauge() && !o.sum}, d.a.Stacks, d.b.Stacks)
			}
			return d.draw(w, o.width)
		})
		for _, side := range sides {
			noteMeans(cmd, d.typ, side.means)
		}
	case o.asJSON:
		err = d.printJSON(w, n)
	default:
		err = d.print(w, args, n)
	}
	return errors.Join(err, failed)
}

// difference is the change from A to B.
type difference struct {
	typ       profile.Type
	a, b      *merged  // b after the scale
	totals    [2]int64 // of A, and of B before the scale
	scale     float64  // factor for the values of B
	functions []profile.FunctionChange
}

// over returns the number of times over which the values are means: the greater of both sides, or 0 for sums.
func (d *difference) over() int { return max(d.a.over, d.b.over) }

// empty reports whether neither side has samples.
func (d *difference) empty() bool { return d.a.Len() == 0 && d.b.Len() == 0 }

// compare compares two merges, function by function.
func compare(a, b *merged, o *diffOptions) (*difference, error) {
	if a.Type.Sample != b.Type.Sample || a.Type.SampleUnit != b.Type.SampleUnit {
		return nil, fmt.Errorf("%s is in %s in A and in %s in B: they cannot be compared",
			typeName(a.Type), a.Type.SampleUnit, b.Type.SampleUnit)
	}
	d := &difference{typ: a.Type, a: a, b: b, totals: [2]int64{a.Total, b.Total}, scale: cmp.Or(o.scale, 1)}
	stacks, err := b.Stacks, error(nil)
	switch {
	case o.normalize:
		for i, side := range []*merged{a, b} {
			if side.Total == 0 {
				return nil, fmt.Errorf("--normalize: the total of %s is 0 in %c: no factor makes the totals equal", typeName(d.typ), 'A'+i)
			}
		}
		d.scale = float64(a.Total) / float64(b.Total)
		stacks, err = b.Normalize(a.Stacks)
	case o.scale != 0:
		stacks, err = b.Scale(o.scale)
	}
	if err != nil {
		return nil, err
	}
	d.b = &merged{stacks, b.means}
	d.functions, err = profile.DiffTop(a.Stacks, stacks)
	return d, err
}

// bySize orders values by descending absolute value.
func bySize(a, b int64) int { return cmp.Compare(max(b, -b), max(a, -a)) }

func (d *difference) printJSON(w io.Writer, nodes int) error {
	functions := append([]profile.FunctionChange{}, cli.First(d.functions, nodes)...) // not nil
	return cli.PrintJSON(w, struct {
		SampleType string                   `json:"sample_type"`
		Unit       string                   `json:"unit"`
		Before     int64                    `json:"before"`
		After      int64                    `json:"after"`
		Scale      float64                  `json:"scale"`
		MeanOver   int                      `json:"mean_over_times"`
		Functions  []profile.FunctionChange `json:"functions"`
	}{d.typ.Sample, d.typ.SampleUnit, d.a.Total, d.b.Total, d.scale, d.over(), functions})
}

func (d *difference) print(w io.Writer, args []string, nodes int) error {
	unit, base := d.typ.SampleUnit, d.a.Magnitude
	p := cli.Printer{W: w}
	p.Printf("Type: %s, B compared with A\n", typeText(d.typ))
	for i, side := range []*merged{d.a, d.b} {
		mean := ""
		if side.over > 0 {
			mean = fmt.Sprintf(" (mean over %d times)", side.over)
		}
		p.Printf("  %c %12s  %s%s\n", 'A'+i, profile.FormatValue(d.totals[i], unit), fitFront(cli.Printable(args[i]), cli.Room(w, 18+len(mean))), mean)
	}
	change := d.b.Total - d.a.Total
	switch {
	case d.scale == 1:
	case change == 0:
		p.Printf("B is scaled by %.4g to the total of A\n", d.scale)
	default:
		p.Printf("B is scaled by %.4g to %s\n", d.scale, profile.FormatValue(d.b.Total, unit))
	}
	if base != 0 && (change != 0 || d.scale == 1) {
		p.Printf("    %12s  %s of A\n", signed(change, unit), signedPercent(change, base))
	}
	if base != d.a.Total {
		p.Printf("(percentages are of %s: values of A without their signs)\n", profile.FormatValue(base, unit))
	}
	if len(d.functions) == 0 {
		if d.empty() {
			p.Printf("%s\n", noSamples)
		} else {
			p.Printf("No function changed.\n")
		}
		return p.Err
	}
	shown := cli.First(d.functions, nodes)
	p.Printf("Showing %d of %d functions that changed\n", len(shown), len(d.functions))
	p.Printf("%12s %9s %12s %9s  %s\n", "flat", "flat%", "cum", "cum%", "function")
	for _, f := range shown {
		p.Printf("%12s %9s %12s %9s  %s\n", signed(f.Flat, unit), signedPercent(f.Flat, base),
			signed(f.Cum, unit), signedPercent(f.Cum, base), p.Name(f.Name, 47))
	}
	return p.Err
}

// signed formats a difference.
func signed(v int64, unit string) string {
	if v > 0 {
		return "+" + profile.FormatValue(v, unit)
	}
	return profile.FormatValue(v, unit)
}

func signedPercent(part, whole int64) string {
	if part > 0 && whole != 0 {
		return "+" + percent(part, whole)
	}
	return percent(part, whole)
}

// draw draws the difference as a flame graph with a width in pixels; 0 means the window's width.
func (d *difference) draw(w io.Writer, width int) error {
	title := "Difference"
	if len(d.functions) == 0 && !d.empty() {
		title = "No difference"
	}
	after := d.b.FlameGraph(profile.FlameGraphOptions{})
	return render.FlameGraph(w, after, render.FlameOptions{
		Title:      fmt.Sprintf("%s: %s %s in B, %s in A", title, typeName(d.typ), profile.FormatValue(after.Total, d.typ.SampleUnit), profile.FormatValue(d.a.Total, d.typ.SampleUnit)),
		SampleType: d.typ.Sample, Unit: d.typ.SampleUnit, Width: width,
		Base: d.a.FlameGraph(profile.FlameGraphOptions{}),
	})
}

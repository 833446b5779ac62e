package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// diffOptions is the flags of diff.
type diffOptions struct {
	selection
	limit     limit
	normalize bool
	output    string
	asJSON    bool
}

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [flags] A B",
		Short: "Compare two profiles, or two directories of them",
		Long: `diff merges the profiles of A, the base, and those of B, each for itself, and
lists the functions by how much more or less they cost in B, as go tool pprof
-diff_base=A -top B does:

  flat   more (+) or less (-) in the function itself     flat%  of A's total
  cum    more or less in it and in what it calls         cum%   of A's total

Where A has negative values, percentages are of the sum of its values without
their signs, by stack; that is then named.

A and B are one input each: a file, a directory, an http URL, or - for standard
input. --selector, --search, --from and --to choose from both; a time before the
newest profile is before the newest of A for A, and of B for B.

Totals that differ, as those of a longer and a shorter profile, make everything
differ. --normalize scales the values of B so that its total is that of A: what
is left is how the shares changed.

-o draws the difference as a flame graph, in place of the table. Under "more in
B" are the call paths that cost more, under "less in B" those that cost less, as
wide as the difference.`,
		Example: `  granary diff before.pb.gz after.pb.gz
  granary diff --normalize monday/ tuesday/
  granary diff -o diff.svg before.pb.gz http://localhost:6060/debug/pprof/heap
  granary diff --json a.pb.gz b.pb.gz | jq '.functions[] | select(.flat > 0)'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("diff compares two inputs, A and B, not %d: files, directories or http URLs", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.asJSON && o.output != "" {
				return usageError{errors.New("-o draws a flame graph and --json prints a table: choose one")}
			}
			if err := errors.Join(spareProfiles(o.output, args), isSVG(o.output)); err != nil {
				return err
			}
			return diff(cmd, &o, args)
		},
	}
	o.flags(cmd, "the one that the first profile of A with samples shows first")
	o.limit.flags(cmd, "nodes", 20, "show the first `N` functions")
	cmd.Flags().BoolVar(&o.normalize, "normalize", false, "scale B to the total of A")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to draw a flame graph to, as SVG; - is standard output")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: values are integers in the unit named in it")
	return cmd
}

// diff compares the two inputs.
func diff(cmd *cobra.Command, o *diffOptions, args []string) error {
	var sides [2]*profile.Stacks
	var none string // why neither has samples
	var failed error
	for i, arg := range args {
		err := withInputs(cmd, o.selection, []string{arg}, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
			name := o.sampleIndex
			if i == 1 && name == "" {
				name = sides[0].Type.Sample + ":" + sides[0].Type.SampleUnit
			}
			var err error
			sides[i], err = mergeType(ctx, db, snap, q, name)
			switch {
			case i == 1 && errors.Is(err, profile.ErrUnknownType):
				return fmt.Errorf("%s: %s", arg, err.Error()) // A has it: no wrong use, they do not fit together
			case err != nil:
				return fmt.Errorf("%s: %w", arg, err)
			case sides[i].Len() == 0:
				none, err = whyNoSamples(ctx, db, snap, q)
			}
			return err
		})
		if _, told := errors.AsType[failedError](err); told {
			failed = err // what could be read is compared
		} else if err != nil {
			return err
		}
	}
	d, err := compare(sides[0], sides[1], o.normalize)
	if err != nil {
		return err
	}
	d.none = none
	w, n := cmd.OutOrStdout(), o.limit.of(o.asJSON)
	switch {
	case o.output != "":
		err = writeTo(o.output, w, d.draw)
		if err == nil && d.empty() {
			noteNothing(cmd, none)
		}
	case o.asJSON:
		err = d.printJSON(w, n)
	default:
		err = d.print(w, args, n)
	}
	return errors.Join(err, failed)
}

// difference is what B has more or less than A.
type difference struct {
	typ       profile.Type
	a, b      *profile.Stacks
	scale     float64 // of the values of B
	functions []changed
	none      string // why neither has samples
}

// empty says whether neither side has samples.
func (d *difference) empty() bool { return d.a.Len() == 0 && d.b.Len() == 0 }

// value is what a function costs on one side.
type value struct {
	Flat int64 `json:"flat"`
	Cum  int64 `json:"cum"`
}

// changed is a function and by how much its cost changed.
type changed struct {
	Name   string `json:"name"`
	Flat   int64  `json:"flat"`
	Cum    int64  `json:"cum"`
	Before value  `json:"before"`
	After  value  `json:"after"`
}

// compare compares two sums, function by function.
func compare(a, b *profile.Stacks, normalize bool) (*difference, error) {
	if a.Type.Sample != b.Type.Sample || a.Type.SampleUnit != b.Type.SampleUnit {
		return nil, fmt.Errorf("%s is in %s in A and in %s in B: they cannot be compared",
			typeName(a.Type), a.Type.SampleUnit, b.Type.SampleUnit)
	}
	d := &difference{typ: a.Type, a: a, b: b, scale: 1}
	if normalize {
		if a.Total == 0 || b.Total == 0 {
			return nil, fmt.Errorf("--normalize: the totals of %s are %d and %d, and 0 has no scale", typeName(a.Type), a.Total, b.Total)
		}
		d.scale = float64(a.Total) / float64(b.Total)
	}
	index := map[string]int{}
	at := func(name string) *changed {
		i, ok := index[name]
		if !ok {
			i = len(d.functions)
			index[name] = i
			d.functions = append(d.functions, changed{Name: name})
		}
		return &d.functions[i]
	}
	for _, f := range a.Top() {
		at(f.Name).Before = value{f.Flat, f.Cum}
	}
	for _, f := range b.Top() {
		at(f.Name).After = value{d.scaled(f.Flat), d.scaled(f.Cum)}
	}
	for i := range d.functions {
		f := &d.functions[i]
		f.Flat, f.Cum = f.After.Flat-f.Before.Flat, f.After.Cum-f.Before.Cum
	}
	d.functions = slices.DeleteFunc(d.functions, func(f changed) bool { return f.Flat == 0 && f.Cum == 0 })
	slices.SortFunc(d.functions, func(a, b changed) int {
		return cmp.Or(bySize(a.Flat, b.Flat), bySize(a.Cum, b.Cum), cmp.Compare(a.Name, b.Name))
	})
	return d, nil
}

// scaled returns a value of B as it is compared.
func (d *difference) scaled(v int64) int64 {
	if d.scale == 1 {
		return v // exactly: a float has 53 bits
	}
	return int64(math.Round(float64(v) * d.scale))
}

// bySize compares values by falling size, whatever their signs.
func bySize(a, b int64) int { return cmp.Compare(max(b, -b), max(a, -a)) }

// first returns the functions to show.
func (d *difference) first(nodes int) []changed {
	if nodes > 0 && len(d.functions) > nodes {
		return d.functions[:nodes]
	}
	return d.functions
}

func (d *difference) printJSON(w io.Writer, nodes int) error {
	functions := d.first(nodes)
	if functions == nil {
		functions = []changed{}
	}
	return printJSON(w, struct {
		SampleType string    `json:"sample_type"`
		Unit       string    `json:"unit"`
		Before     int64     `json:"before"`
		After      int64     `json:"after"`
		Scale      float64   `json:"scale"`
		Functions  []changed `json:"functions"`
	}{d.typ.Sample, d.typ.SampleUnit, d.a.Total, d.scaled(d.b.Total), d.scale, functions})
}

func (d *difference) print(w io.Writer, args []string, nodes int) error {
	unit, base := d.typ.SampleUnit, d.a.Magnitude
	p := printer{w: w}
	p.printf("Type: %s, B compared with A\n", typeText(d.typ))
	for i, side := range []*profile.Stacks{d.a, d.b} {
		p.printf("  %c %12s  %s\n", 'A'+i, profile.FormatValue(side.Total, unit), fitFront(printable(args[i]), textWidth-18))
	}
	after := d.scaled(d.b.Total)
	switch {
	case d.scale != 1:
		p.printf("B is scaled by %.4g to the total of A\n", d.scale)
	case base != 0:
		p.printf("    %12s  %s of A\n", signed(after-d.a.Total, unit), signedPercent(after-d.a.Total, base))
	}
	if base != d.a.Total {
		p.printf("(percentages are of %s: values of A without their signs)\n", profile.FormatValue(base, unit))
	}
	if len(d.functions) == 0 {
		if d.empty() {
			p.printf("%s\n", cmp.Or(d.none, "There are no samples."))
		} else {
			p.printf("No function changed.\n")
		}
		return p.err
	}
	shown := d.first(nodes)
	p.printf("Showing %d of %d functions that changed\n", len(shown), len(d.functions))
	p.printf("%12s %9s %12s %9s  %s\n", "flat", "flat%", "cum", "cum%", "function")
	for _, f := range shown {
		p.printf("%12s %9s %12s %9s  %s\n", signed(f.Flat, unit), signedPercent(f.Flat, base),
			signed(f.Cum, unit), signedPercent(f.Cum, base), printable(f.Name))
	}
	return p.err
}

// signed renders a difference.
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

// draw draws the difference as a flame graph.
func (d *difference) draw(w io.Writer) error {
	more, less := &profile.FlameNode{Name: "more in B"}, &profile.FlameNode{Name: "less in B"}
	d.split(more, less, d.a.FlameGraph(profile.FlameGraphOptions{}), d.b.FlameGraph(profile.FlameGraphOptions{}))
	root := &profile.FlameNode{Name: "root", Total: more.Total + less.Total}
	for _, side := range []*profile.FlameNode{more, less} {
		if side.Total > 0 {
			root.Children = append(root.Children, side)
		}
	}
	title, nothing := "Difference", ""
	if root.Total == 0 && !d.empty() {
		title, nothing = "No difference", "No difference"
	}
	return profile.WriteSVG(w, root, profile.SVGOptions{
		Title:      fmt.Sprintf("%s: %s %s in B, %s in A", title, typeName(d.typ), profile.FormatValue(d.scaled(d.b.Total), d.typ.SampleUnit), profile.FormatValue(d.a.Total, d.typ.SampleUnit)),
		SampleType: "difference", Unit: d.typ.SampleUnit, Empty: nothing,
	})
}

// split adds to more and less what the paths below two nodes, of A and of B, cost
// more and less in B. Either node may be missing.
func (d *difference) split(more, less, a, b *profile.FlameNode) {
	type function struct{ name, file string }
	type pair struct{ a, b *profile.FlameNode }
	pairs := map[function]pair{}
	var order []function
	var self int64
	if a != nil {
		self -= a.Self
		for _, child := range a.Children {
			f := function{child.Name, child.File}
			pairs[f] = pair{a: child}
			order = append(order, f)
		}
	}
	if b != nil {
		self += d.scaled(b.Self)
		for _, child := range b.Children {
			f := function{child.Name, child.File}
			if _, ok := pairs[f]; !ok {
				order = append(order, f)
			}
			pairs[f] = pair{pairs[f].a, child}
		}
	}
	more.Self, less.Self = max(self, 0), max(-self, 0)
	more.Total, less.Total = more.Self, less.Self
	for _, f := range order {
		m, l := &profile.FlameNode{Name: f.name, File: f.file}, &profile.FlameNode{Name: f.name, File: f.file}
		d.split(m, l, pairs[f].a, pairs[f].b)
		addChild(more, m)
		addChild(less, l)
	}
}

// addChild adds a child that has a value.
func addChild(parent, child *profile.FlameNode) {
	if child.Total > 0 {
		parent.Children = append(parent.Children, child)
		parent.Total += child.Total
	}
}

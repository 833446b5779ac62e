package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func newTop() *cobra.Command {
	var s selection
	var show cli.Limit
	var order ordering
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "top [flags] INPUT...",
		Short: "Show the functions that cost most",
		Long: `top merges the profiles and lists functions by their own cost:

  flat   the function itself            flat%  flat as a share of the total
  sum%   flat% of this line and above
  cum    the function and its callees   cum%   cum as a share of the total

The order is that of flat, or that of --sort or --cum. A recursive function
counts once per stack. The total is that of the chosen samples, as with
-relative_percentages of go tool pprof. If some values are negative, as in a
difference, percentages are shares of the sum of the stacks' absolute values,
which is then printed. On a terminal, long names are cut to its width.

` + choiceHelp + `

` + gaugesHelp + `

` + kindsHelp + `

` + stateHelp + `

` + askedHelp,
		Example: `  granary demo --span 2m --profiles gen       # profiles for the lines below
  granary top --sample-index cpu gen
  granary top --sample-index inuse_space --cum -n 30 gen
  granary top --sample-index cpu --selector '{pod=~"pebble-.*"}' gen
  granary top --sample-index cpu --search 'json[.]' --from latest-1h gen
  granary top --sample-index cpu --focus '^net[./]' --hide '^runtime[.]' gen
  granary top --sample-index cpu --json gen | jq '.functions[0]'`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withType(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) error {
				found, err := findTop(ctx, &s, db, snap, q, t)
				if err != nil {
					return err
				}
				found.order = order
				output := found.print
				if asJSON {
					output = found.printJSON
				}
				if err := output(cmd.OutOrStdout(), show.Of(asJSON)); err != nil || found.Len() > 0 {
					return err
				}
				return s.noteEmpty(ctx, cmd, db, snap, q, true, found.Type)
			})
		},
	}
	s.flags(cmd, firstShown)
	s.answerFlags(cmd)
	show.Flags(cmd, "nodes", 20, "show the first `N` functions")
	order.flags(cmd)
	s.stateFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: values are integers in the unit named in it")
	return cmd
}

// topFound is the answer of top.
type topFound struct {
	*merged
	extent
	others []string // the other sample types, if no type was requested
	order  ordering
}

func findTop(ctx context.Context, s *selection, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (*topFound, error) {
	m, err := s.merge(ctx, db, snap, q, t)
	if err != nil {
		return nil, err
	}
	infos, err := db.Profiles(ctx, snap, m.Type, q)
	if err != nil {
		return nil, err
	}
	found := &topFound{merged: m, extent: extentOf(infos)}
	if m.Len() > 0 && s.sampleIndex == "" {
		found.others, err = otherTypes(ctx, db, snap, q, m.Type)
	}
	return found, err
}

// otherTypes returns the names of the types in a query's profiles, except `but`.
func otherTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, but profile.Type) ([]string, error) {
	types, err := presentTypes(ctx, db, snap, q)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range types {
		if name := typeName(t); !but.Includes(t) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// first returns the functions to show and the number of all functions.
func (f *topFound) first(nodes int) ([]profile.Function, int) {
	functions := f.Top()
	slices.SortFunc(functions, func(a, b profile.Function) int {
		return f.order.compare(a.Flat, a.Cum, a.Name, b.Flat, b.Cum, b.Name)
	})
	return cli.First(functions, nodes), len(functions)
}

func (f *topFound) printJSON(w io.Writer, nodes int) error {
	functions, _ := f.first(nodes)
	functions = append([]profile.Function{}, functions...) // not nil
	var from, to string
	if f.profiles > 0 {
		from, to = cli.TimeJSON(f.from), cli.TimeJSON(f.to)
	}
	return cli.PrintJSON(w, struct {
		SampleType string             `json:"sample_type"`
		Unit       string             `json:"unit"`
		Profiles   int                `json:"profiles"`
		From       string             `json:"from,omitempty"`
		To         string             `json:"to,omitempty"`
		Total      int64              `json:"total"`
		Magnitude  int64              `json:"magnitude"`
		MeanOver   int                `json:"mean_over_times"`
		Functions  []profile.Function `json:"functions"`
	}{f.Type.Sample, f.Type.SampleUnit, f.profiles, from, to, f.Total, f.Magnitude, f.over, functions})
}

func (f *topFound) print(w io.Writer, nodes int) error {
	shown, all := f.first(nodes)
	unit := f.Type.SampleUnit
	p := cli.Printer{W: w}
	p.Printf("Type: %s, total %s", typeText(f.Type), profile.FormatValue(f.Total, unit))
	if f.Magnitude != f.Total {
		p.Printf("\n(percentages are of %s: values without their signs)", profile.FormatValue(f.Magnitude, unit))
	}
	p.Printf("\n")
	if all == 0 {
		p.Printf("%s\n", noSamples)
		return p.Err
	}
	p.Printf("%s\n", f.extent)
	f.printMeans(&p)
	if len(f.others) > 0 {
		p.Printf("%s\n", othersText(f.others, cli.Width(w, 0)))
	}
	p.Printf("Showing %d of %d functions\n", len(shown), all)
	p.Printf("%12s %7s %7s %12s %7s  %s\n", "flat", "flat%", "sum%", "cum", "cum%", "function")
	var sum int64
	for _, g := range shown {
		sum += g.Flat
		p.Printf("%12s %7s %7s %12s %7s  %s\n", profile.FormatValue(g.Flat, unit), percent(g.Flat, f.Magnitude),
			percent(sum, f.Magnitude), profile.FormatValue(g.Cum, unit), percent(g.Cum, f.Magnitude), p.Name(g.Name, 51))
	}
	return p.Err
}

// othersText lists the other types that fit on a line.
func othersText(names []string, width int) string {
	const before, after = "Others: ", " (--sample-index)"
	text := before
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		if utf8.RuneCountInString(text+name+", ..."+after) > width {
			text += "..."
			break
		}
		text += name
	}
	return text + after
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(whole))
}

// The values of --sort.
const (
	sortFlat = "flat"
	sortCum  = "cum"
	sortName = "name"
)

// ordering holds the flags for the order of a table of functions.
type ordering struct {
	by  string
	cum bool
}

// flags adds the flags. The greatest absolute values come first.
func (o *ordering) flags(cmd *cobra.Command) {
	o.by = sortFlat
	cmd.Flags().Var(cli.NewChoice("sort", []string{sortFlat, sortCum, sortName}, &o.by), "sort", "sort functions by `COLUMN`: flat, cum or name")
	cmd.Flags().BoolVar(&o.cum, "cum", false, "sort functions by cum: short for --sort cum")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if o.cum && o.by != sortCum && cmd.Flags().Changed("sort") {
			return cli.Usage(fmt.Errorf("--cum and --sort %s: choose one", o.by))
		}
		return nil
	}
}

// compare compares two functions by their flat and cumulative values, and their names.
func (o *ordering) compare(flatA, cumA int64, nameA string, flatB, cumB int64, nameB string) int {
	flat, cum, name := bySize(flatA, flatB), bySize(cumA, cumB), cmp.Compare(nameA, nameB)
	switch {
	case o.cum || o.by == sortCum:
		return cmp.Or(cum, flat, name)
	case o.by == sortName:
		return name
	default:
		return cmp.Or(flat, cum, name)
	}
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func newTop() *cobra.Command {
	var s selection
	var show limit
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "top [flags] INPUT...",
		Short: "Show the functions that cost most",
		Long: `top merges the profiles and lists functions by what they cost themselves:

  flat   in the function itself         flat%  of the total
  sum%   flat% of this line and above
  cum    in it and in what it calls     cum%   of the total

A function that calls itself counts once in a stack. Where values are negative,
as in a difference, percentages are of the sum of all values without their
signs, by stack; that is then named.

` + inputsHelp,
		Example: `  granary top cpu.pb.gz
  granary top --sample-index inuse_space -n 30 heaps/
  granary top --selector '{thread=~"worker-.*"}' cpu.pb.gz
  granary top --search 'json[.]' --from -1h profiles/   # JSON in the last hour
  granary top --json heaps/ | jq '.functions[0]'`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				found, err := findTop(ctx, db, snap, q, s.sampleIndex)
				if err != nil {
					return err
				}
				if asJSON {
					return found.printJSON(cmd.OutOrStdout(), show.of(asJSON))
				}
				return found.print(cmd.OutOrStdout(), show.of(asJSON))
			})
		},
	}
	s.flags(cmd, firstShown)
	show.flags(cmd, "nodes", 20, "show the first `N` functions")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: values are integers in the unit named in it")
	return cmd
}

// mergeType sums the profiles of a query for the named sample type.
func mergeType(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (*profile.Stacks, error) {
	t, err := findType(ctx, db, snap, q, name)
	if err != nil {
		return nil, err
	}
	return db.Merge(ctx, snap, t, q)
}

// topFound is the answer of top.
type topFound struct {
	*profile.Stacks
	span
	others []string // types that could have been shown instead, if none was asked for
	none   string   // why there are no samples
}

func findTop(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (*topFound, error) {
	stacks, err := mergeType(ctx, db, snap, q, name)
	if err != nil {
		return nil, err
	}
	infos, err := db.Profiles(ctx, snap, stacks.Type, q)
	if err != nil {
		return nil, err
	}
	found := &topFound{Stacks: stacks, span: spanOf(infos)}
	if stacks.Len() == 0 {
		found.none, err = whyNoSamples(ctx, db, snap, q)
	} else if name == "" {
		found.others, err = otherTypes(ctx, db, snap, q, stacks.Type)
	}
	return found, err
}

// otherTypes names the types that the profiles of a query have beside one.
func otherTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, but profile.Type) ([]string, error) {
	types, err := db.Types(ctx, snap)
	if err != nil || len(types) < 2 {
		return nil, err
	}
	groups, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{
		By:    []string{profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit},
		Where: q.Expr(), NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	there := map[profile.Type]bool{}
	sample, unit, period, periodUnit := groups.Columns[0].Values, groups.Columns[1].Values, groups.Columns[2].Values, groups.Columns[3].Values
	for i, name := range sample.Strings {
		there[profile.Type{Sample: name, SampleUnit: unit.Strings[i], Period: period.Strings[i], PeriodUnit: periodUnit.Strings[i]}] = true
	}
	var names []string
	for _, t := range types {
		if name := typeName(t); there[t] && t != but && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// first returns the functions to show, and how many there are.
func (f *topFound) first(nodes int) ([]profile.Function, int) {
	functions := f.Top()
	if nodes > 0 && len(functions) > nodes {
		return functions[:nodes], len(functions)
	}
	return functions, len(functions)
}

func (f *topFound) printJSON(w io.Writer, nodes int) error {
	functions, _ := f.first(nodes)
	if functions == nil {
		functions = []profile.Function{}
	}
	var from, to string
	if f.profiles > 0 {
		from, to = timeJSON(f.from), timeJSON(f.to)
	}
	return printJSON(w, struct {
		SampleType string             `json:"sample_type"`
		Unit       string             `json:"unit"`
		Profiles   int                `json:"profiles"`
		From       string             `json:"from,omitempty"`
		To         string             `json:"to,omitempty"`
		Total      int64              `json:"total"`
		Magnitude  int64              `json:"magnitude"`
		Functions  []profile.Function `json:"functions"`
	}{f.Type.Sample, f.Type.SampleUnit, f.profiles, from, to, f.Total, f.Magnitude, functions})
}

// timeJSON is a time for scripts.
func timeJSON(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }

func (f *topFound) print(w io.Writer, nodes int) error {
	shown, all := f.first(nodes)
	unit := f.Type.SampleUnit
	p := printer{w: w}
	p.printf("Type: %s, total %s", typeText(f.Type), profile.FormatValue(f.Total, unit))
	if f.Magnitude != f.Total {
		p.printf("\n(percentages are of %s: values without their signs)", profile.FormatValue(f.Magnitude, unit))
	}
	p.printf("\n")
	if all == 0 {
		p.printf("%s\n", cmp.Or(f.none, "There are no samples."))
		return p.err
	}
	p.printf("%s\n", f.span)
	if len(f.others) > 0 {
		p.printf("%s\n", othersText(f.others))
	}
	p.printf("Showing %d of %d functions\n", len(shown), all)
	p.printf("%12s %7s %7s %12s %7s  %s\n", "flat", "flat%", "sum%", "cum", "cum%", "function")
	var sum int64
	for _, g := range shown {
		sum += g.Flat
		p.printf("%12s %7s %7s %12s %7s  %s\n", profile.FormatValue(g.Flat, unit), percent(g.Flat, f.Magnitude),
			percent(sum, f.Magnitude), profile.FormatValue(g.Cum, unit), percent(g.Cum, f.Magnitude), printable(g.Name))
	}
	return p.err
}

// othersText names other types, as many as fit.
func othersText(names []string) string {
	const before, after = "Others: ", " (--sample-index)"
	text := before
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		if utf8.RuneCountInString(text+name+", ..."+after) > textWidth {
			text += "..."
			break
		}
		text += name
	}
	return text + after
}

// printJSON prints a value for scripts: names as they are.
func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", " ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// printable replaces what a terminal would take for a command.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(whole))
}

// printer remembers the first error of many prints.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// noSamples says that there are no samples, and why where that is known.
func (p *printer) noSamples(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
	why, err := whyNoSamples(ctx, db, snap, q)
	if err != nil {
		return err
	}
	p.printf("%s\n", why)
	return p.err
}

var errNoOutput = usageError{errors.New("say where to write: -o FILE, or -o - for standard output")}

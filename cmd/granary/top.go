package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func newTop() *cobra.Command {
	var s selection
	var nodes int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "top [flags] INPUT...",
		Short: "Show the functions that cost most",
		Long: `top merges the profiles and lists functions by what they cost themselves:

  flat   in the function itself         flat%  of the total
  sum%   flat% of this line and above
  cum    in it and in what it calls     cum%   of the total

A function that calls itself counts once in a stack.

` + inputsHelp,
		Example: `  granary top cpu.pb.gz
  granary top --sample-index inuse_space --nodes 30 heaps/
  granary top --selector '{thread=~"worker-.*"}' cpu.pb.gz
  granary top --search 'json[.]' --from -1h profiles/   # JSON in the last hour
  granary top --json --nodes 0 heaps/ | jq '.functions[0]'`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if nodes < 0 {
				return usageError{fmt.Errorf("--nodes %d: want 0 (all) or more", nodes)}
			}
			if asJSON && !cmd.Flags().Changed("nodes") {
				nodes = 0 // a script wants all unless it says otherwise
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				stacks, err := mergeType(ctx, db, snap, q, s.sampleIndex)
				if err != nil {
					return err
				}
				if asJSON {
					return printTopJSON(cmd.OutOrStdout(), stacks, nodes)
				}
				return printTop(cmd.OutOrStdout(), stacks, nodes)
			})
		},
	}
	s.flags(cmd, firstShown)
	cmd.Flags().IntVar(&nodes, "nodes", 20, "show the first `N` functions; 0 shows all (default with --json: all)")
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

func printTopJSON(w io.Writer, stacks *profile.Stacks, nodes int) error {
	functions := stacks.Top()
	if nodes > 0 && len(functions) > nodes {
		functions = functions[:nodes]
	}
	if functions == nil {
		functions = []profile.Function{}
	}
	return printJSON(w, struct {
		SampleType string             `json:"sample_type"`
		Unit       string             `json:"unit"`
		Total      int64              `json:"total"`
		Functions  []profile.Function `json:"functions"`
	}{stacks.Type.Sample, stacks.Type.SampleUnit, stacks.Total, functions})
}

func printTop(w io.Writer, stacks *profile.Stacks, nodes int) error {
	functions := stacks.Top()
	shown := functions
	if nodes > 0 && len(shown) > nodes {
		shown = shown[:nodes]
	}
	unit := stacks.Type.SampleUnit
	p := printer{w: w}
	p.printf("Type: %s (%s), total %s\n", typeName(stacks.Type), unit, profile.FormatValue(stacks.Total, unit))
	if len(functions) == 0 {
		p.printf("There are no samples.\n")
		return p.err
	}
	p.printf("Showing %d of %d functions\n", len(shown), len(functions))
	p.printf("%12s %7s %7s %12s %7s  %s\n", "flat", "flat%", "sum%", "cum", "cum%", "function")
	var sum int64
	for _, f := range shown {
		sum += f.Flat
		p.printf("%12s %7s %7s %12s %7s  %s\n", profile.FormatValue(f.Flat, unit), percent(f.Flat, stacks.Magnitude),
			percent(sum, stacks.Magnitude), profile.FormatValue(f.Cum, unit), percent(f.Cum, stacks.Magnitude), printable(f.Name))
	}
	return p.err
}

// typeName is what to call a sample type: old profiles have some without a name.
func typeName(t profile.Type) string { return cmp.Or(printable(t.Sample), "unnamed") }

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

var errNoOutput = usageError{errors.New("say where to write: -o FILE, or -o - for standard output")}

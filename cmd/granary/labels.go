package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func newLabels() *cobra.Command {
	var s selection
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "labels [--name LABEL] [flags] INPUT...",
		Short: "List labels and their values",
		Long: `labels lists the labels that profiles and their samples have, with the number of
distinct values and the first of them. These are the names that --selector and
--by take. The label named file is the input that a profile came from. Labels of
samples that are numbers are kept, and "granary merge" writes them, but they are
not listed here, and --selector and --by cannot choose by them.

With --name it lists the values of one label, with the number of profiles that
have samples with it and of series: a series is what one input has of one sample
type. The name is behind a flag since everything else is an input.

` + inputsHelp,
		Example: `  granary labels cpu.pb.gz
  granary labels --name thread cpu.pb.gz
  granary labels --name thread --search 'json[.]' cpu/   # which threads do JSON
  granary labels --json --name pod profiles/ | jq -r '.values[].value'`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("name") && name == "" {
				return usageError{fmt.Errorf("--name is empty: want the name of a label")}
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				if name != "" {
					return labelValues(ctx, db, snap, q, name, cmd.OutOrStdout(), asJSON)
				}
				return labelNames(ctx, db, snap, q, cmd.OutOrStdout(), asJSON)
			})
		},
	}
	s.queryFlags(cmd)
	cmd.Flags().StringVar(&name, "name", "", "list the values of `LABEL`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// knownLabels says which of the labels that a flag names are not there, if there
// are any labels.
func knownLabels(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, flag string, labels ...string) error {
	if len(labels) == 0 {
		return nil
	}
	names, err := db.LabelNames(ctx, snap, q)
	if err != nil || len(names) == 0 {
		return err
	}
	for _, label := range labels {
		if !slices.Contains(names, label) {
			const most = 20
			there := strings.Join(names[:min(len(names), most)], ", ")
			if len(names) > most {
				there += ", ..."
			}
			return usageError{fmt.Errorf("--%s %q: there is no such label, there is: %s", flag, label, there)}
		}
	}
	return nil
}

// labelNames prints the names of the labels.
func labelNames(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, w io.Writer, asJSON bool) error {
	type label struct {
		Name   string `json:"name"`
		Values int    `json:"values"`
		values []labelValue
	}
	labels := []label{}
	names, err := db.LabelNames(ctx, snap, q)
	if err != nil {
		return err
	}
	for _, name := range names {
		values, err := countValues(ctx, db, snap, q, name)
		if err != nil {
			return err
		}
		if len(values) > 0 { // else samples that were not asked for have it
			labels = append(labels, label{name, len(values), values})
		}
	}
	if asJSON {
		return printJSON(w, struct {
			Labels []label `json:"labels"`
		}{labels})
	}
	p := printer{w: w}
	if len(labels) == 0 {
		return p.noSamples(ctx, db, snap, q)
	}
	const width = 24
	p.printf("%8s  %-*s  %s\n", "values", width, "label", "such as")
	for _, l := range labels {
		p.printf("%8s  %-*s  %s\n", number(l.Values), width, fit(printable(l.Name), width), examples(l.values, textWidth-width-12))
	}
	return p.err
}

// examples is the first of some values, as many as fit.
func examples(values []labelValue, width int) string {
	var b strings.Builder
	left := width
	for i, v := range values {
		value := printable(v.Value)
		if i == 0 {
			value = fitFront(value, width-len(", ..."))
		} else {
			value = ", " + value
		}
		room := left
		if i < len(values)-1 {
			room -= len(", ...")
		}
		if utf8.RuneCountInString(value) > room {
			b.WriteString(", ...")
			break
		}
		left -= utf8.RuneCountInString(value)
		b.WriteString(value)
	}
	return b.String()
}

// labelValue is a value of a label, and what has it.
type labelValue struct {
	Value    string `json:"value"`
	Profiles int    `json:"profiles"`
	Series   int    `json:"series"`
}

// labelValues prints the values of a label.
func labelValues(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string, w io.Writer, asJSON bool) error {
	if err := knownLabels(ctx, db, snap, q, "name", name); err != nil {
		return err
	}
	values, err := countValues(ctx, db, snap, q, name)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, struct {
			Name   string       `json:"name"`
			Values []labelValue `json:"values"`
		}{name, values})
	}
	p := printer{w: w}
	if len(values) == 0 {
		return p.noSamples(ctx, db, snap, q)
	}
	p.printf("%8s  %8s  %s\n", "profiles", "series", printable(name))
	for _, v := range values {
		p.printf("%8s  %8s  %s\n", number(v.Profiles), number(v.Series), fitFront(printable(v.Value), textWidth-20))
	}
	return p.err
}

// countValues counts the profiles and the series of each value of a label. Every
// input is a profile with a label of its own: file.
func countValues(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) ([]labelValue, error) {
	types, err := db.Types(ctx, snap)
	if err != nil {
		return nil, err
	}
	series, files := map[string]int{}, map[string]map[string]bool{}
	for _, t := range types {
		lines, err := db.Range(ctx, snap, t, q, profile.RangeOptions{Step: math.MaxInt64, By: []string{"file", name}})
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			var file, value string
			for _, l := range line.Labels {
				if l.Name == "file" {
					file = l.Value
				}
				if l.Name == name {
					value = l.Value
				}
			}
			if value == "" {
				continue
			}
			if series[value]++; files[value] == nil {
				files[value] = map[string]bool{}
			}
			files[value][file] = true
		}
	}
	out := []labelValue{}
	for _, value := range slices.Sorted(maps.Keys(series)) {
		out = append(out, labelValue{value, len(files[value]), series[value]})
	}
	return out, nil
}

// fitFront shortens text that is wider than a column, at its front: the ends of
// file names and pods tell them apart.
func fitFront(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return "…" + string(runes[len(runes)-width+1:])
}

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

	"github.com/granarydb/granary/cmd/granary/internal/cli"
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
		Long: `labels lists the labels of profiles and of their samples, each with the number
of distinct values and the first few values. --selector and --by take the names.
The label named file is the input that a profile came from. Numeric labels of
samples are stored, and "granary merge" writes them, but they are not listed
here, and --selector and --by do not accept them.

Only labels of chosen samples are listed: --from, --to and the other conditions
hold exactly.

With --name it lists the values of one label. Each value is listed with the
number of profiles and of series that have it. A series is one sample type of
one input.

` + askedHelp,
		Example: `  granary demo --span 2m --profiles gen       # profiles for the lines below
  granary labels gen
  granary labels --name zone gen
  granary labels --name job --search 'json[.]' gen   # which programs do JSON
  granary labels --json --name pod gen | jq -r '.values[].value'`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("name") && name == "" {
				return cli.Usage(fmt.Errorf("--name is empty: want the name of a label"))
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				var found int
				var err error
				if name != "" {
					found, err = labelValues(ctx, db, snap, q, name, cmd.OutOrStdout(), asJSON)
				} else {
					found, err = labelNames(ctx, db, snap, q, cmd.OutOrStdout(), asJSON)
				}
				if err != nil || found > 0 {
					return err
				}
				return s.noteEmpty(ctx, cmd, db, snap, q, true)
			})
		},
	}
	s.queryFlags(cmd)
	cmd.Flags().StringVar(&name, "name", "", "list the values of `LABEL`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// knownLabels returns a usage error if a flag names an unknown label. It returns no error if no profile has
// labels.
func knownLabels(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, flag string, labels ...string) error {
	if len(labels) == 0 {
		return nil
	}
	names, err := db.LabelNames(ctx, snap, q)
	if err != nil || len(names) == 0 {
		return err
	}
	for _, label := range labels {
		if !slices.ContainsFunc(names, func(name string) bool { return name == label || profile.UnderscoreLabel(name) == label }) {
			const most = 20
			there := strings.Join(names[:min(len(names), most)], ", ")
			if len(names) > most {
				there += ", ..."
			}
			return cli.Usage(fmt.Errorf("--%s %q: there is no such label; the labels are: %s", flag, label, there))
		}
	}
	return nil
}

// labelNames prints the names of the labels, each with its first values, and returns their number.
func labelNames(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, w io.Writer, asJSON bool) (int, error) {
	type label struct {
		Name   string `json:"name"`
		Values int    `json:"values"`
		values []labelValue
	}
	labels := []label{}
	names, err := db.LabelNames(ctx, snap, q)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		values, err := countValues(ctx, db, snap, q, name)
		if err != nil {
			return 0, err
		}
		if len(values) > 0 { // otherwise only samples outside the query have the label
			labels = append(labels, label{name, len(values), values})
		}
	}
	if asJSON {
		return len(labels), cli.PrintJSON(w, struct {
			Labels []label `json:"labels"`
		}{labels})
	}
	p := cli.Printer{W: w}
	if len(labels) == 0 {
		p.Printf("%s\n", noSamples)
		return 0, p.Err
	}
	const width = 24
	p.Printf("%8s  %-*s  %s\n", "values", width, "label", "such as")
	for _, l := range labels {
		p.Printf("%8s  %-*s  %s\n", cli.Number(l.Values), width, cli.Fit(cli.Printable(l.Name), width), examples(l.values, cli.Room(w, width+12)))
	}
	return len(labels), p.Err
}

// examples returns the first values that fit.
func examples(values []labelValue, width int) string {
	var b strings.Builder
	left := width
	for i, v := range values {
		value := cli.Printable(v.Value)
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

// labelValue is a value of a label, with the number of its profiles and series.
type labelValue struct {
	Value    string `json:"value"`
	Profiles int    `json:"profiles"`
	Series   int    `json:"series"`
}

// labelValues prints the values of a label and returns their number.
func labelValues(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string, w io.Writer, asJSON bool) (int, error) {
	if err := knownLabels(ctx, db, snap, q, "name", name); err != nil {
		return 0, err
	}
	values, err := countValues(ctx, db, snap, q, name)
	if err != nil {
		return 0, err
	}
	if asJSON {
		return len(values), cli.PrintJSON(w, struct {
			Name   string       `json:"name"`
			Values []labelValue `json:"values"`
		}{name, values})
	}
	p := cli.Printer{W: w}
	if len(values) == 0 {
		p.Printf("%s\n", noSamples)
		return 0, p.Err
	}
	p.Printf("%8s  %8s  %s\n", "profiles", "series", cli.Printable(name))
	for _, v := range values {
		p.Printf("%8s  %8s  %s\n", cli.Number(v.Profiles), cli.Number(v.Series), fitFront(cli.Printable(v.Value), cli.Room(w, 20)))
	}
	return len(values), p.Err
}

// countValues counts the profiles and the series for each value of a label. The label file distinguishes
// profiles, because every input has its own value.
func countValues(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) ([]labelValue, error) {
	types, err := db.Types(ctx, snap)
	if err != nil {
		return nil, err
	}
	q.SumGauges, q.SumKinds = true, true // only labels matter
	series, files := map[string]int{}, map[string]map[string]bool{}
	for _, t := range types {
		lines, err := db.Range(ctx, snap, t, q, profile.RangeOptions{Step: math.MaxInt64, By: []string{labelFile, name}})
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			value := valueOf(line.Labels, name)
			if value == "" {
				continue
			}
			if series[value]++; files[value] == nil {
				files[value] = map[string]bool{}
			}
			files[value][valueOf(line.Labels, labelFile)] = true
		}
	}
	out := []labelValue{}
	for _, value := range slices.Sorted(maps.Keys(series)) {
		out = append(out, labelValue{value, len(files[value]), series[value]})
	}
	return out, nil
}

// valueOf returns the value of a label, or "".
func valueOf(labels []profile.Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// fitFront shortens text to a width by cutting its front, because file names and pod names differ most often
// at their ends.
func fitFront(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return "…" + string(runes[len(runes)-width+1:])
}

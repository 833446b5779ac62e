package main

import (
	"context"
	"errors"
	"io"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/formats"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func newMerge() *cobra.Command {
	var s selection
	var output, format string
	cmd := &cobra.Command{
		Use:   "merge -o FILE [flags] INPUT...",
		Short: "Merge profiles into one",
		Long: `merge adds up profiles by stack and labels and writes one gzipped pprof profile.
Speedscope, go tool pprof, go build -pgo and granary itself read the result.

Profiles of different kinds, such as CPU and heap, cannot be merged: choose one
type with --sample-index, or one kind with --selector. --sum-kinds merges kinds
with the same period. The result has the sample types of all of them, with 0
where a profile lacks one; go tool pprof -proto keeps only the types that all
have.

If the name of FILE ends in .folded or .collapsed, or with --format folded, the
output has a line of text for each stack, for flamegraph.pl and others: the
functions from the root to the leaf, separated by semicolons, and the value of
one sample type. If it ends in .speedscope.json, or with --format speedscope, it
is a file of speedscope with each of the sample types, without negative values.

` + gaugesHelp + `

` + kindsHelp + `

` + askedHelp,
		Example: `  granary merge -o week.pb.gz monday.pb.gz tuesday.pb.gz
  granary merge -o default.pgo --sample-index cpu profiles/
  granary merge -o day.pb.gz --from -1d profiles/   # the most recent day
  granary merge -o heap.pb.gz heaps/ && go tool pprof -top heap.pb.gz
  granary merge -o - --format folded cpu/ | flamegraph.pl > cpu.svg
  granary merge -o heap.speedscope.json heaps/
  granary merge -o - heaps/ | granary top -`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return cli.ErrNoOutput
			}
			if err := errors.Join(spareProfiles(output, args), checkMergeOutput(format, output)); err != nil {
				return err
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				if format := mergeFormat(format, output); format != formatPprof {
					return mergeStacks(ctx, cmd, db, snap, q, &s, format, output)
				}
				return mergePprof(ctx, cmd, db, snap, q, &s, output)
			})
		},
	}
	s.flags(cmd, "all; one with --format folded: "+firstShown)
	s.answerFlags(cmd)
	cmd.Flags().Var(cli.NewChoice("format", []string{formatPprof, formatFolded, formatSpeedscope}, &format), "format", "`FORMAT` to write: pprof, folded or speedscope (default: from the suffix of FILE)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - is standard output")
	return cmd
}

// mergePprof writes one pprof profile of the named sample type, or of all types.
func mergePprof(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, s *selection, output string) error {
	var only []profile.Type
	if s.sampleIndex != "" {
		t, err := findType(ctx, db, snap, q, s.sampleIndex)
		if err != nil {
			return err
		}
		only = append(only, t)
	}
	p, err := db.Profile(ctx, snap, q, only...)
	if err != nil {
		return err
	}
	if err := cli.WriteTo(output, cmd.OutOrStdout(), p.Write); err != nil {
		return err
	}
	if len(p.Sample) == 0 {
		return s.noteEmpty(ctx, cmd, db, snap, q, false, only...)
	}
	return noteGauges(ctx, cmd, db, snap, q, p)
}

// mergeStacks writes the stacks of a query in a format other than pprof.
func mergeStacks(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, s *selection, format, output string) error {
	var write func(w io.Writer) error
	var all []*merged
	switch format {
	case formatFolded:
		stacks, err := mergeType(ctx, db, snap, q, s.sampleIndex)
		if err != nil {
			return err
		}
		all = append(all, stacks)
		write = func(w io.Writer) error { return formats.WriteFolded(w, stacks.Stacks) }
	case formatSpeedscope:
		var shown int
		var err error
		if all, shown, err = mergeTypes(ctx, db, snap, q, s.sampleIndex); err != nil {
			return err
		}
		write = func(w io.Writer) error { return writeSpeedscope(w, all, shown) }
	}
	if err := cli.WriteTo(output, cmd.OutOrStdout(), write); err != nil {
		return err
	}
	var types []profile.Type
	empty := true
	for _, m := range all {
		types = append(types, m.Type)
		empty = empty && m.Len() == 0
	}
	if empty {
		return s.noteEmpty(ctx, cmd, db, snap, q, false, types...)
	}
	for _, m := range all {
		noteMeans(cmd, m.Type, m.means)
	}
	return nil
}

// noteGauges reports which values of a merged profile are means.
func noteGauges(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, p *pprof.Profile) error {
	for _, s := range p.SampleType {
		t := profile.Type{Sample: s.Type, SampleUnit: s.Unit, Period: p.PeriodType.Type, PeriodUnit: p.PeriodType.Unit}
		if !t.IsGauge() {
			continue
		}
		m, err := findMeans(ctx, db, snap, q, t)
		if err != nil {
			return err
		}
		noteMeans(cmd, t, m)
	}
	return nil
}

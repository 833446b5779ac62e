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

Profiles of different kinds, such as CPU and heap, do not fit into one profile.
Of a folder with several kinds the result has the types of one: that of cpu or,
if no profile has it, inuse_space. Standard error says what is left out, and
--sample-index or --selector chooses another. --sum-kinds merges kinds with the
same period: the result has the sample types of all of them, with 0 where a
profile lacks one; go tool pprof -proto keeps only the types that all have.

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
  granary merge -o day.pb.gz --from latest-1d profiles/   # the newest day
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
				switch format := mergeFormat(format, output); format {
				case formatFolded:
					return mergeFolded(ctx, cmd, db, snap, q, &s, output)
				case formatSpeedscope:
					return mergeSpeedscope(ctx, cmd, db, snap, q, &s, output)
				default:
					return mergePprof(ctx, cmd, db, snap, q, &s, output)
				}
			})
		},
	}
	s.flags(cmd, "all types of the kind that is chosen; with --format folded one: "+firstShown)
	s.answerFlags(cmd)
	cmd.Flags().Var(cli.NewChoice("format", []string{formatPprof, formatFolded, formatSpeedscope}, &format), "format", "`FORMAT` to write: pprof, folded or speedscope (default: from the suffix of FILE)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - is standard output")
	return cmd
}

// mergePprof writes one pprof profile: of the named sample type, of all types, or, if these do not fit in one
// profile, of the types of one kind.
func mergePprof(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, asked profile.Query, s *selection, output string) error {
	q, only := asked, []profile.Type(nil)
	p, err := new(pprof.Profile), error(nil)
	if s.sampleIndex == "" {
		p, err = db.Profile(ctx, snap, q)
	}
	if _, mixed := errors.AsType[*profile.MixedError](err); mixed || s.sampleIndex != "" {
		if q, only, err = s.kindToMerge(ctx, db, snap, asked); err == nil {
			p, err = db.Profile(ctx, snap, q, only...)
		}
	}
	if err != nil {
		return err
	}
	if err := cli.WriteOutput(cmd, output, p.Write); err != nil {
		return err
	}
	if len(p.Sample) == 0 {
		return s.noteEmpty(ctx, cmd, db, snap, q, false, only...)
	}
	if err := noteGauges(ctx, cmd, db, snap, q, p); err != nil || only == nil {
		return err
	}
	return s.noteLeftOut(ctx, cmd, db, snap, asked, q, only[0])
}

// kindToMerge returns the query and the types for a merged profile of one kind, the chosen type first.
func (s *selection) kindToMerge(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) (profile.Query, []profile.Type, error) {
	chosen, q, err := s.choose(ctx, db, snap, q)
	if err != nil || s.sampleIndex != "" {
		return q, []profile.Type{chosen}, err
	}
	kinds, err := kindsOf(ctx, db, snap, q, chosen)
	if err != nil || len(kinds) == 0 {
		return q, []profile.Type{chosen}, err
	}
	types := []profile.Type{chosen}
	for _, t := range kinds[0].Types {
		if err := db.CheckKinds(ctx, snap, t, q); err != nil {
			return q, nil, err // another kind has this type too
		}
		if t != chosen {
			types = append(types, t)
		}
	}
	return q, types, nil
}

// mergeFolded writes the stacks of one sample type as text.
func mergeFolded(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, asked profile.Query, s *selection, output string) error {
	t, q, err := s.choose(ctx, db, snap, asked)
	if err != nil {
		return err
	}
	stacks, err := merge(ctx, db, snap, q, t)
	if err != nil {
		return err
	}
	if err := cli.WriteOutput(cmd, output, func(w io.Writer) error { return formats.WriteFolded(w, stacks.Stacks) }); err != nil {
		return err
	}
	if stacks.Len() == 0 {
		return s.noteEmpty(ctx, cmd, db, snap, q, false, t)
	}
	noteMeans(cmd, t, stacks.means)
	return s.noteLeftOut(ctx, cmd, db, snap, asked, q, t)
}

// mergeSpeedscope writes the stacks of the named sample type, or of all types, in the format of speedscope.
func mergeSpeedscope(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, s *selection, output string) error {
	all, shown, err := mergeTypes(ctx, db, snap, q, s.sampleIndex)
	if err != nil {
		return err
	}
	var stacks []*profile.Stacks
	var types []profile.Type
	empty := true
	for _, m := range all {
		stacks, types = append(stacks, m.Stacks), append(types, m.Type)
		empty = empty && m.Len() == 0
	}
	err = cli.WriteOutput(cmd, output, func(w io.Writer) error { return formats.WriteSpeedscope(w, stacks, shown, typeName) })
	if err != nil {
		return err
	}
	if empty {
		return s.noteEmpty(ctx, cmd, db, snap, q, false, types...)
	}
	for _, m := range all {
		noteMeans(cmd, m.Type, m.means)
	}
	return nil
}

// noteGauges reports which values in a merged profile are means.
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

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/stackfile"
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

` + stateHelp + `
A profile of pprof has one type then.

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
			if err := cmp.Or(spareProfiles(output, args), checkMergeOutput(format, output)); err != nil {
				return err
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				switch format := mergeFormat(format, output); {
				case format == formatPprof && s.asksStates():
					return mergeState(ctx, cmd, db, snap, q, &s, output)
				case format == formatFolded:
					return mergeFolded(ctx, cmd, db, snap, q, &s, output)
				case format == formatSpeedscope:
					return mergeSpeedscope(ctx, cmd, db, snap, q, &s, output)
				default:
					return mergePprof(ctx, cmd, db, snap, q, &s, output, nil)
				}
			})
		},
	}
	s.flags(cmd, "all types of the kind that is chosen; with --format folded one: "+firstShown)
	s.answerFlags(cmd)
	s.stateFlags(cmd)
	cmd.Flags().Var(cli.NewChoice("format", []string{formatPprof, formatFolded, formatSpeedscope}, &format), "format", "`FORMAT` to write: pprof, folded or speedscope (default: from the suffix of FILE)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - is standard output")
	return cmd
}

// mergePprof writes one pprof profile: of the named sample type, of all types, or, if these do not fit in one
// profile, of the types of one kind. edit, if not nil, changes it before.
func mergePprof(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, asked profile.Query, s *selection, output string, edit func(context.Context, *pprof.Profile) error) error {
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
	if err == nil && edit != nil && len(p.Sample) > 0 {
		err = edit(ctx, p)
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

// mergeState writes the samples of one type that a state chooses as a profile.
func mergeState(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, asked profile.Query, s *selection, output string) error {
	t, q, err := s.choose(ctx, db, snap, asked)
	if err != nil {
		return err
	}
	m, err := s.merge(ctx, db, snap, q, t)
	if err != nil {
		return err
	}
	return cli.WriteOutput(cmd, output, m.pprof().Write)
}

// kindToMerge returns the query and the types for a merged profile of one kind, the chosen type first.
func (s *selection) kindToMerge(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) (profile.Query, []profile.Type, error) {
	chosen, q, err := s.choose(ctx, db, snap, q)
	if err != nil || s.sampleIndex != "" || chosen.Period == profile.AnyPeriod { // another type of the kind can lack a period
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
	stacks, err := s.merge(ctx, db, snap, q, t)
	if err != nil {
		return err
	}
	if err := cli.WriteOutput(cmd, output, func(w io.Writer) error { return stackfile.WriteFolded(ctx, w, 0, stacks.Stacks) }); err != nil {
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
	all, shown, err := s.mergeTypes(ctx, db, snap, q)
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
	err = cli.WriteOutput(cmd, output, func(w io.Writer) error {
		return stackfile.WriteSpeedscope(ctx, w, 0, stacks, shown, func(_ int, t profile.Type) string { return typeName(t) })
	})
	if err != nil {
		return err
	}
	if empty {
		return s.noteEmpty(ctx, cmd, db, snap, q, false, types...)
	}
	for _, m := range all {
		noteMeans(cmd, m.Type, m.means)
		s.noteTotals(cmd, m.Type.Sample)
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

// The values of --format of merge.
const (
	formatPprof      = "pprof"
	formatFolded     = "folded"
	formatSpeedscope = "speedscope"
)

// mergeFormat returns a merge's format from the flag or the output's suffix.
func mergeFormat(format, output string) string {
	name := strings.ToLower(filepath.Base(output))
	switch {
	case format != "":
		return format
	case strings.HasSuffix(name, ".folded"), strings.HasSuffix(name, ".collapsed"):
		return formatFolded
	case strings.HasSuffix(name, ".speedscope.json"), strings.HasSuffix(name, ".speedscope"):
		return formatSpeedscope
	default:
		return formatPprof
	}
}

// checkMergeOutput returns a usage error for an output without --format if its suffix belongs to a format
// that merge does not write, because programs that open it would not expect a pprof profile.
func checkMergeOutput(format, output string) error {
	ending := strings.ToLower(filepath.Ext(output))
	if mergeFormat(format, output) == formatPprof && format == "" && slices.Contains([]string{".json", ".svg", ".txt", ".csv", ".html", ".parquet", ".arrows"}, ending) {
		return cli.Usage(fmt.Errorf("-o %s: merge writes pprof, folded stacks or files of speedscope: use the suffix .pb.gz, .folded or .speedscope.json, or add --format", output))
	}
	return nil
}

// mergeTypes merges a query's profiles for the named sample type, or for each type with samples if none is
// named. It returns the default type's index.
func (s *selection) mergeTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) (all []*merged, shown int, err error) {
	if s.sampleIndex != "" {
		t, err := findType(ctx, db, snap, q, s.sampleIndex)
		if err != nil {
			return nil, 0, err
		}
		stacks, err := s.merge(ctx, db, snap, q, t)
		return []*merged{stacks}, 0, err
	}
	types, err := db.Types(ctx, snap)
	if err != nil || len(types) == 0 {
		return nil, 0, err
	}
	first, err := db.DefaultType(ctx, snap, q)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range types {
		stacks, err := s.merge(ctx, db, snap, q, t)
		if err != nil {
			return nil, 0, err
		}
		if stacks.Len() == 0 {
			continue
		}
		all = append(all, stacks)
	}
	return all, max(0, slices.IndexFunc(all, func(m *merged) bool { return first.Includes(m.Type) })), nil
}

const gaugesHelp = `Values measured at an instant, such as the heap in use, are means over the times
of the profiles whose labels, except file, are equal, and the means are added
up. Give different programs different labels (--label, folders NAME=VALUE).
--sum adds up all values, as go tool pprof does.`

// merged is the merge of a query's profiles for one sample type.
type merged struct {
	*profile.Stacks
	means
}

// means describes means of a gauge. The zero value means that values are sums.
type means struct {
	over    int // number of times of the source with the most times
	sources int
}

// merge merges a query's profiles for one sample type.
func merge(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (*merged, error) {
	stacks, err := db.Merge(ctx, snap, t, q)
	if err != nil {
		return nil, err
	}
	means, err := findMeans(ctx, db, snap, q, t)
	if err != nil {
		return nil, err
	}
	return &merged{stacks, means}, nil
}

// findMeans returns the description of the means in answers about a type. It ignores samples that the query
// excludes.
func findMeans(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) (means, error) {
	if q.SumGauges || !t.IsGauge() {
		return means{}, nil
	}
	q.Function, q.Frames, q.Hide, q.Show = nil, nil, nil, nil
	infos, err := db.Profiles(ctx, snap, t, q)
	if err != nil {
		return means{}, err
	}
	times := map[string]map[int64]bool{} // the times of each source
	over := 0
	for _, p := range infos {
		source := fmt.Sprintf("%q", slices.DeleteFunc(p.Labels, func(l profile.Label) bool { return l.Name == labelFile }))
		if times[source] == nil {
			times[source] = map[int64]bool{}
		}
		times[source][p.Time] = true
		over = max(over, len(times[source]))
	}
	if over < 2 {
		return means{}, nil
	}
	return means{over, len(times)}, nil
}

func (m means) String() string {
	if m.sources == 1 {
		return fmt.Sprintf("means over %d times; --sum adds them up", m.over)
	}
	return fmt.Sprintf("means over up to %d times, added up over %d sets of labels; --sum adds up all", m.over, m.sources)
}

// printMeans prints that values are means, if they are.
func (m means) printMeans(p *cli.Printer) {
	if m.over > 0 {
		p.Printf("The values are %s.\n", m)
	}
}

// noteMeans reports on standard error that a type's values in an output file are means.
func noteMeans(cmd *cobra.Command, t profile.Type, m means) {
	if m.over > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s: %s\n", typeName(t), m)
	}
}

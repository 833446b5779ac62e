package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

const choiceHelp = `Of a folder with several kinds of profiles, as a Go program has them, the answer
is about cpu or, if no profile has it, inuse_space, and standard error says what
is left out. --sample-index asks for another type.`

// typeAnswer answers a query about the samples of one type.
type typeAnswer func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) error

// withType is withInputs for commands that answer about one type. After the answer it reports on standard
// error the inputs that the answer omits, unless flags chose the type. An answer that is grouped by labels
// can have several kinds.
func withType(cmd *cobra.Command, s selection, args []string, f typeAnswer, by ...string) error {
	return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
		t, chosen, err := s.choose(ctx, db, snap, q, by...)
		if err != nil {
			return err
		}
		if err := f(ctx, db, snap, chosen, t); err != nil {
			return err
		}
		return s.noteLeftOut(ctx, cmd, db, snap, q, chosen, t)
	})
}

// choose returns an answer's type, and the query without profiles of other kinds that measure the same
// values.
func (s *selection) choose(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, by ...string) (profile.Type, profile.Query, error) {
	candidates, err := candidateTypes(ctx, db, snap, q, s.sampleIndex)
	if err != nil {
		return profile.Type{}, q, err
	}
	var first error
	for _, t := range candidates {
		chosen, err := oneOfTwins(q, t, db.CheckKinds(ctx, snap, t, q, by...))
		if err == nil {
			return t, chosen, nil
		}
		if _, mixed := errors.AsType[*profile.MixedError](err); !mixed {
			return profile.Type{}, q, err
		}
		if first == nil {
			first = err
		}
	}
	return profile.Type{}, q, first
}

// candidateTypes returns the possible types of an answer, best first: the named type, or cpu, inuse_space,
// the default type and all others.
func candidateTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) ([]profile.Type, error) {
	t, err := findType(ctx, db, snap, q, name)
	if err != nil || name != "" {
		return []profile.Type{t}, err
	}
	kinds, err := db.Kinds(ctx, snap, q)
	if err != nil || len(kinds) < 2 {
		return []profile.Type{t}, err
	}
	present, err := presentTypes(ctx, db, snap, q)
	if err != nil || !slices.Contains(present, t) {
		return []profile.Type{t}, err
	}
	var best []profile.Type
	present = slices.Insert(present, 0, t)
	for _, name := range []string{"cpu", "inuse_space"} {
		for _, t := range present {
			if t.Sample == name {
				best = append(best, t)
			}
		}
	}
	return append(best, present...), nil
}

// presentTypes returns the types of the rows that a query selects, in the order of the profiles, as profile.JoinTypes does.
func presentTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) ([]profile.Type, error) {
	types, err := db.Types(ctx, snap)
	if err != nil {
		return nil, err
	}
	groups, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{
		By:    []string{profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit},
		Where: db.Resolve(snap, q).Expr(), NoCounts: true,
	})
	if err != nil {
		return nil, err
	}
	there := map[profile.Type]bool{}
	sample, unit, period, periodUnit := groups.Columns[0].Values, groups.Columns[1].Values, groups.Columns[2].Values, groups.Columns[3].Values
	for i, name := range sample.Strings {
		there[profile.Type{Sample: name, SampleUnit: unit.Strings[i], Period: period.Strings[i], PeriodUnit: periodUnit.Strings[i]}] = true
	}
	return profile.JoinTypes(slices.DeleteFunc(types, func(t profile.Type) bool { return !there[t] })), nil
}

// oneOfTwins resolves an error of CheckKinds about Go's heap and allocs profiles, which count the same
// memory twice. It returns the query for the kind that shows the type by default.
func oneOfTwins(q profile.Query, t profile.Type, err error) (profile.Query, error) {
	mixed, ok := errors.AsType[*profile.MixedError](err)
	if !ok || len(mixed.Kinds) != 2 {
		return q, err
	}
	allocs := slices.IndexFunc(mixed.Kinds, func(k profile.ProfileKind) bool { return k.Name == "allocs" })
	if allocs < 0 || !slices.Equal(mixed.Kinds[0].Types, mixed.Kinds[1].Types) {
		return q, err
	}
	kept := mixed.Kinds[allocs]
	if !strings.HasPrefix(t.Sample, "alloc_") {
		kept = mixed.Kinds[1-allocs]
	}
	only, bad := profile.ParseSelector(kept.Selector)
	if bad != nil || kept.Selector == "" {
		return q, err
	}
	q.Selector = q.Selector.And(only)
	return q, nil
}

// noteLeftOut reports the profiles of the query `asked` that are not in the query `chosen`, and the flags
// that select them.
func (s *selection) noteLeftOut(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, asked, chosen profile.Query, t profile.Type) error {
	s.noteTotals(cmd, t.Sample)
	if s.sampleIndex != "" && chosen.Selector.String() == asked.Selector.String() {
		return nil // a flag chose the type
	}
	shown, err := sourcesOf(ctx, db, snap, chosen)
	if err != nil {
		return err
	}
	all, err := sourcesOf(ctx, db, snap, asked)
	if err != nil {
		return err
	}
	in := map[string]bool{}
	for _, source := range shown {
		in[source.name] = slices.ContainsFunc(source.types, t.Includes)
	}
	var names []string
	var others []profile.Type
	for _, source := range all {
		if !in[source.name] {
			names = append(names, source.name)
			others = append(others, source.types...)
		}
	}
	if len(names) == 0 || len(names) == len(all) {
		return nil // there is no answer, or it omits nothing
	}
	what, left, types := "profile", listed(names, ", "), 8
	if strings.HasPrefix(all[0].name, "{") {
		what = "source"
	}
	if len(names) > 10 {
		left, types = cli.Number(len(names)), 1
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s%s is in %d of %s; left out: %s%s\n", s.side, typeName(t),
		len(all)-len(names), cli.Many(len(all), what), left, askFor(t, others, types))
	return nil
}

// askFor names the flag that selects types other than t, and the first types, or returns "" if there are none.
func askFor(t profile.Type, others []profile.Type, most int) string {
	var names []string
	for _, other := range others {
		name := typeName(other)
		if !t.Includes(other) && other.Sample == t.Sample {
			name = other.String() // the short name is ambiguous
		}
		if !t.Includes(other) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > most {
		names = append(names[:most], "...")
	}
	return "; --sample-index asks for another type: " + strings.Join(names, ", ")
}

// source is the profiles with equal labels: an input, or the pushes of one client.
type source struct {
	name  string
	types []profile.Type
}

// sourcesOf returns the sources of the rows that a query selects, sorted by name.
func sourcesOf(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) ([]source, error) {
	q.Exact = true
	series, err := db.Series(ctx, snap, q)
	if err != nil {
		return nil, err
	}
	types := map[string][]profile.Type{}
	for _, one := range series {
		name := sourceName(one.Labels)
		types[name] = append(types[name], one.Type)
	}
	var all []source
	for name, of := range types {
		all = append(all, source{name, of})
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// sourceName names profiles by their file, or by their labels if they have none.
func sourceName(labels []profile.Label) string {
	var texts []string
	for _, l := range labels {
		if l.Name == labelFile {
			return cli.Printable(l.Value)
		}
		texts = append(texts, fmt.Sprintf("%s=%q", l.Name, l.Value))
	}
	return "{" + cli.Printable(strings.Join(texts, ",")) + "}"
}

const kindsHelp = `Profiles of different kinds are not added up or compared: Go's block and mutex
profiles have sample types of equal names. Profiles are of one kind if they list
the same sample types and have the same label __name__. The label comes from
--label or from a folder. Profiles of contentions have it from the word block or
mutex in the name of their file or URL, and profiles of the heap from the word
allocs. diff compares profiles without the label with any others.`

// explainMixed adds the inputs, and a remedy, to the error for profiles of several kinds. It returns
// other errors unchanged.
func explainMixed(err error) error {
	mixed, ok := errors.AsType[*profile.MixedError](err)
	if !ok {
		return err
	}
	var kinds, selectors []string
	for _, k := range mixed.Kinds {
		kinds = append(kinds, cli.Printable(k.String())+inputsOf(k))
		if k.Selector != "" {
			selectors = append(selectors, "--selector "+shellQuoted(k.Selector))
		}
	}
	text := fmt.Sprintf("profiles of %d different kinds: %s; choose ", len(kinds), listed(kinds, "; "))
	if mixed.Periods {
		return errors.New(text + "one type with --sample-index, or one kind with --selector")
	}
	if selectors == nil {
		selectors = []string{"--selector"}
	}
	return fmt.Errorf("%s: %sanother type with --sample-index, one kind with %s, or add up their values with --sum-kinds", typeName(mixed.Type), text, listed(selectors, " or "))
}

// kindsOf returns the kinds of a query's profiles that have a type.
func kindsOf(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) ([]profile.ProfileKind, error) {
	kinds, err := db.Kinds(ctx, snap, q)
	return slices.DeleteFunc(kinds, func(k profile.ProfileKind) bool { return !slices.ContainsFunc(k.Types, t.Includes) }), err
}

// checkSides returns an error that names the inputs if every kind on both sides of a difference has a name,
// and the sides have no name in common. A side without a name can have any kind, because its file may have
// been renamed.
func checkSides(t profile.Type, a, b []profile.ProfileKind) error {
	names := map[string]bool{"": true}
	for _, k := range a {
		names[k.Name] = true
	}
	if len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(k profile.ProfileKind) bool { return k.Name == "" }) ||
		slices.ContainsFunc(b, func(k profile.ProfileKind) bool { return names[k.Name] }) {
		return nil
	}
	side := func(kinds []profile.ProfileKind) string {
		var texts []string
		for _, k := range kinds {
			texts = append(texts, cli.Printable(k.String())+inputsOf(k))
		}
		return listed(texts, "; ")
	}
	return fmt.Errorf("%s: A and B are profiles of different kinds: %s; %s; compare them anyway with --sum-kinds", typeName(t), side(a), side(b))
}

// inputsOf names the first inputs of a kind's profiles: files, or labels for profiles without a file.
func inputsOf(k profile.ProfileKind) string {
	var names []string
	for _, source := range k.Sources {
		isName := func(l profile.Label) bool { return l.Name == profile.NameLabel } // the kind has this label
		if labels := slices.DeleteFunc(slices.Clone(source), isName); len(labels) > 0 {
			names = append(names, sourceName(labels))
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return ""
	}
	return " in " + listed(names, ", ")
}

// listed joins the first texts of a list, and adds the number of the others.
func listed(texts []string, separator string) string {
	const most = 3
	if more := len(texts) - most; more > 0 {
		texts = append(slices.Clone(texts[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, separator)
}

// shellQuoted returns a text as one word for a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

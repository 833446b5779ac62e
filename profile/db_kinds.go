package profile

import (
	"cmp"
	"context"
	"slices"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/means"
)

// Kinds returns the kinds of the profiles that can have rows of a query, sorted by name, then in the
// order in which type lists were first committed. It reads no rows: bounds on time and conditions on
// stacks apply as in LabelNames. The slices belong to the caller.
//
// Rows do not keep the list of their profile. A source gets the list with the most of its types, and
// among several the shortest. Profiles with equal labels therefore have one kind, whatever they list. A
// source whose values of some types are all zero can be mistaken for profiles that do not list these
// types, if such profiles exist.
//
// It costs as much as Series. Errors are as for columnstore.Table.Series.
func (db *DB) Kinds(ctx context.Context, snap *columnstore.Snapshot, q Query) ([]ProfileKind, error) {
	s, err := db.plan(ctx, snap, q).kindSources(ctx)
	if err != nil {
		return nil, err
	}
	return s.kinds(s.sources, s.kindOf, func(Type) bool { return true }), nil
}

// kindSources has the sources of a query with all their types, and the type lists.
type kindSources struct {
	sources []kindSource
	lists   [][]Type
}

// kindSource is the profiles with equal labels, and the types of their rows.
type kindSource struct {
	labels []Label
	types  []Type
}

// kindKey identifies a kind: by its name, or without one by its types.
type kindKey struct {
	name   string
	list   int  // index in kindSources.lists; len(lists) for rows without a list
	period Type // the period type, for rows without a list
}

func (p *plan) kindSources(ctx context.Context) (*kindSources, error) {
	lists, err := p.db.typeLists(p.snap)
	if err != nil {
		return nil, err
	}
	series, err := p.sources(ctx)
	if err != nil {
		return nil, err
	}
	s, index := &kindSources{lists: lists.sets}, map[string]int{}
	for _, one := range series {
		key := labelsKey(one.Labels)
		i, known := index[key]
		if !known {
			i = len(s.sources)
			index[key] = i
			s.sources = append(s.sources, kindSource{labels: one.Labels})
		}
		s.sources[i].types = append(s.sources[i].types, one.Type)
	}
	return s, nil
}

// labelsKey returns labels as one text. Different labels have different texts.
func labelsKey(labels []Label) string {
	var key []byte
	for _, l := range labels {
		key = means.AppendText(means.AppendText(key, l.Name), l.Value)
	}
	return string(key)
}

// kindOf returns the kind of a source's profiles that have a type.
func (s *kindSources) kindOf(of *kindSource, t Type) kindKey {
	if name := valueOf(of.labels, NameLabel); name != "" {
		return kindKey{name: name}
	}
	key := kindKey{list: s.listOf(of, t)}
	if key.list == len(s.lists) {
		key.period = Type{Period: t.Period, PeriodUnit: t.PeriodUnit}
	}
	return key
}

// kindOfSum is kindOf for sums of one type: profiles without a name are of one kind if the type's name says what it measures.
func (s *kindSources) kindOfSum(of *kindSource, t Type) kindKey {
	key := s.kindOf(of, t)
	if key.name == "" && t.isClear() {
		return kindKey{}
	}
	return key
}

// listOf returns the index of the list of a source's profiles that have a type: len(s.lists) for rows without a list.
func (s *kindSources) listOf(of *kindSource, t Type) int {
	at, most := len(s.lists), 0
	for i, list := range s.lists {
		if !slices.Contains(list, t) {
			continue
		}
		if n := common(list, of.types); n > most || n == most && len(list) < len(s.lists[at]) {
			at, most = i, n
		}
	}
	return at
}

// kinds returns the kinds of sources that have a chosen type.
func (s *kindSources) kinds(sources []kindSource, kindOf func(*kindSource, Type) kindKey, chosen func(Type) bool) []ProfileKind {
	index := map[kindKey]*ProfileKind{}
	var keys []kindKey
	for i := range sources {
		of := &sources[i]
		for _, t := range of.types {
			if !chosen(t) {
				continue
			}
			key := kindOf(of, t)
			k := index[key]
			if k == nil {
				k = &ProfileKind{Name: key.name}
				index[key] = k
				keys = append(keys, key)
			}
			types := []Type{t}
			if list := s.listOf(of, t); list < len(s.lists) {
				types = s.lists[list]
			}
			for _, t := range types {
				if !slices.Contains(k.Types, t) {
					k.Types = append(k.Types, t)
				}
			}
			if n := len(k.Sources); n == 0 || !slices.Equal(k.Sources[n-1], of.labels) {
				k.Sources = append(k.Sources, of.labels)
			}
		}
	}
	slices.SortFunc(keys, func(a, b kindKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.list, b.list), a.period.compare(b.period))
	})
	kinds := make([]ProfileKind, len(keys))
	for i, key := range keys {
		kinds[i] = *index[key]
	}
	SeparateKinds(kinds)
	return kinds
}

// CheckKinds returns a MixedError if sums of a type by labels would add up values of several kinds.
// Merge, MergeBy, MergeByState, Range and Profile call it. A program that adds up the groups of an answer
// should call it first. With Query.SumKinds there is no error.
//
// It costs some us if profiles of one kind have the type. Otherwise it reads the query's series, as Kinds
// does, and if they have several kinds also the rows, at the cost of columnstore.Table.Aggregate. Other
// errors are those of Aggregate.
func (db *DB) CheckKinds(ctx context.Context, snap *columnstore.Snapshot, t Type, q Query, by ...string) error {
	return db.plan(ctx, snap, q, t).oneKind(ctx, []Type{t}, by)
}

// oneKind is DB.CheckKinds for several types.
//
// The sets of series answer at a cost that does not depend on the rows. If they have several kinds, the
// rows of the query decide, because it may choose one kind, for instance by time.
func (p *plan) oneKind(ctx context.Context, types []Type, by []string) error {
	if p.q.SumKinds {
		return nil
	}
	if several, err := p.severalKinds(ctx, types); err != nil || !several {
		return err
	}
	s, err := p.kindSources(ctx)
	if err != nil {
		return err
	}
	for _, t := range types {
		sources := slices.Clone(s.sources)
		sources = slices.DeleteFunc(sources, func(of kindSource) bool { return !slices.ContainsFunc(of.types, t.Includes) })
		if !s.areMixed(sources, t, by) {
			continue
		}
		rows, err := p.sourcesOfRows(ctx, t)
		if err != nil {
			return err
		}
		sources = slices.DeleteFunc(sources, func(of kindSource) bool { return !rows[labelsKey(of.labels)] })
		if s.areMixed(sources, t, by) {
			return &MixedError{Type: t, Kinds: s.kinds(sources, s.kindOfSum, t.Includes)}
		}
	}
	return nil
}

// severalKinds reports whether the series of a query can have several kinds with a common type.
func (p *plan) severalKinds(ctx context.Context, types []Type) (bool, error) {
	lists, err := p.db.typeLists(p.snap)
	if err != nil {
		return false, err
	}
	for _, t := range types {
		n := 0
		for _, list := range lists.sets {
			if slices.ContainsFunc(list, t.Includes) {
				n++
			}
		}
		if n > 1 && !t.isClear() { // whose kinds are names
			return true, nil
		}
	}
	// Most tables have one name for each type, whatever the query.
	columns := []string{ColumnSampleType, ColumnSampleUnit, ColumnPeriodType, ColumnPeriodUnit, ColumnLabels + "." + NameLabel}
	known, err := p.db.table.KnownTuples(p.snap, columns)
	if err != nil || !namedTwice(known, types) {
		return false, err
	}
	names, err := p.db.table.SeriesTuples(ctx, p.snap, columns, p.series(types))
	return namedTwice(names, types), err
}

// namedTwice reports whether tuples of a type and a name have several names for a type in types.
func namedTwice(tuples [][]string, types []Type) bool {
	for _, t := range types {
		var first []string
		for _, tuple := range tuples {
			if !t.Includes(Type{tuple[0], tuple[1], tuple[2], tuple[3]}) {
				continue
			}
			if first == nil {
				first = tuple
			}
			if tuple[4] != first[4] {
				return true
			}
		}
	}
	return false
}

// areMixed reports whether sums of a type by labels add up several kinds of sources.
func (s *kindSources) areMixed(sources []kindSource, t Type, by []string) bool {
	kinds := map[string]kindKey{} // by group
	for i := range sources {
		var group []byte
		for _, name := range by {
			group = means.AppendText(group, valueOf(sources[i].labels, name))
		}
		for _, own := range sources[i].types {
			if !t.Includes(own) {
				continue
			}
			kind := s.kindOfSum(&sources[i], own)
			if other, known := kinds[string(group)]; known && other != kind {
				return true
			}
			kinds[string(group)] = kind
		}
	}
	return false
}

// sourcesOfRows returns the sources of the query's rows with a type, by labelsKey.
func (p *plan) sourcesOfRows(ctx context.Context, t Type) (map[string]bool, error) {
	groups, err := p.read(ctx, p.rows([]Type{t}), columnstore.AggregateOptions{By: []string{ColumnLabels}})
	if err != nil {
		return nil, err
	}
	sources := map[string]bool{}
	for row := range groups.Counts {
		sources[labelsKey(labelsAt(groups.Columns, row))] = true
	}
	return sources, nil
}

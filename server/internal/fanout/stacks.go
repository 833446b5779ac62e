package fanout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// Stacks of several nodes come as sums by id. The stacks of ids that are new are asked for once, and kept on a shelf, in whose store the
// sums of all nodes become rows, and a server of that store answers. So a pruned flame graph is pruned from all profiles, and is not
// a sum of pruned graphs.

// Side is a query for stacks. A difference has two.
type Side struct {
	path    string
	message []byte // of the question, if the path has none
	typ     profile.Type
	isNamed bool // kinds are added up
}

// StacksOf returns the query for all stacks in a request with type t. isNamed reports that the type has a name.
func StacksOf(m *querierv1.SelectMergeStacktracesRequest, t profile.Type, isNamed bool) (Side, error) {
	message, err := proto.Marshal(stacksOf(m))
	return Side{StacksPath, message, t, isNamed}, err
}

// StacksAs returns the query for the stacks of GET /pprof with its parameters: profiles with a type, which the nodes know by name. isNamed, from
// and to are as for ProfileOf.
func StacksAs(t Typed, name string, isNamed bool, selector string, from, to int64) Side {
	return Side{StacksPath + "?" + parametersOf(name, selector, from, to), nil, t.Type, isNamed}
}

// ask returns the question for sums, or for stacks that are wanted.
func (s *Side) ask(wanted []profile.StackID) Question {
	q := StackQuestion{Message: s.message, Wanted: wanted}
	return Question{Path: s.path, Body: q.Encode(), Media: StacksMedia, Kinds: !s.isNamed && wanted == nil}
}

// StacksMedia is the media type of a StackQuestion and of its answer.
const StacksMedia = "application/octet-stream"

// Labels of rows in a store in memory.
const (
	sideLabel   = "side"
	nodeLabel   = "node"
	sourceLabel = "source"
)

// AnyName is the name of the profiles in a store in memory that have a name. All have the same.
const AnyName = "any"

// SideSelector returns the selector of a side's rows, by its number.
func SideSelector(number int) string { return fmt.Sprintf("{%s=\"%d\"}", sideLabel, number) }

// Stacks asks for the stacks of sides, and calls f with a store that has all of them as rows of one time, until f returns. With a type,
// only the nodes that have it are asked, and kinds are the type's kinds. Queries about gauges have the times as Query.Times.
func (s *Set) Stacks(ctx context.Context, sides []Side, t Typed, f func(db *profile.DB, at int64, times *profile.Times) error) error {
	for {
		h, err := s.shelves.take(s.shelfBytes())
		if err != nil {
			return err
		}
		isEmpty := h.isEmpty()
		err = s.stacksOn(ctx, h, sides, t, f)
		isShort := errors.Is(err, columnstore.ErrMemory)
		err = errors.Join(err, s.shelves.give(h, isShort || errors.Is(err, columnstore.ErrQueryMemory)))
		if !isShort || isEmpty {
			return err
		}
	}
}

// stacksOn is Stacks on a shelf. The error is columnstore.ErrMemory, before f was called, if the shelf lacks room.
func (s *Set) stacksOn(ctx context.Context, h *shelf, sides []Side, t Typed, f func(db *profile.DB, at int64, times *profile.Times) error) error {
	m := &merging{set: s, shelf: h, sides: sides, nodes: s.nodesOf(t)}
	err := m.ask(ctx, t)
	for err == nil && m.wants() {
		err = m.askWanted(ctx)
	}
	var at int64
	if err == nil {
		at, err = h.put(ctx, m.rows())
	}
	if errors.Is(err, columnstore.ErrMemory) {
		err = fmt.Errorf("%w: %w", columnstore.ErrQueryMemory, err)
	}
	if err != nil {
		return err
	}
	defer h.drop(at)
	return cmp.Or(f(h.db, at, &m.of.times), h.hasLost())
}

// shelfBytes is the memory of the store of a shelf. All questions share it, and the other half of what they may take together is for the
// nodes' answers.
func (s *Set) shelfBytes() int64 { return int64(max(2, s.opts.Queries/2)) * s.opts.Memory }

// merging is a question about stacks in progress.
type merging struct {
	set     *Set
	shelf   *shelf
	sides   []Side
	nodes   []*node    // that answered so far
	answers [][]summed // by node and side
	of      *sourcesOf
}

// summed are the sums of a node and a side.
type summed struct {
	stackSums
	codes  []uint32          // of the ids; 0 is not known yet
	wanted []profile.StackID // that this node is asked for
}

// ask asks the nodes for sums, and checks the kinds of profiles.
func (m *merging) ask(ctx context.Context, t Typed) error {
	questions := make([]Question, len(m.sides))
	kinds := make([]kindsOf, len(m.sides))
	for k := range m.sides {
		questions[k], kinds[k] = m.sides[k].ask(nil), kindsOf{}
	}
	all, answers := m.nodes, make([][]summed, len(m.nodes))
	err := m.set.gather(ctx, all, 0.25, questions, func(i int, replies []reply) error {
		own := make([]summed, len(m.sides))
		for k := range m.sides {
			sums, err := decodeSums(replies[k].body)
			if err != nil {
				return all[i].away("a wrong answer: %v", err)
			}
			if err := m.sides[k].check(all[i], &sums); err != nil {
				return err
			}
			own[k].stackSums = sums
			if questions[k].Kinds && len(sums.ids) > 0 {
				if err := kinds[k].add(all[i], replies[k].kinds); err != nil {
					return err
				}
			}
		}
		answers[i] = own
		return nil
	})
	for k := range kinds {
		if err == nil {
			err = kinds[k].check(t.types()...)
		}
	}
	m.keep(all, answers)
	return err
}

// check returns an error for sums that the side cannot have.
func (s *Side) check(n *node, sums *stackSums) error {
	for _, of := range sums.sources {
		if isGauge := s.typ.IsGauge(); isGauge && of.times < 1 || !isGauge && (of.times != 0 || len(of.labels) > 0) {
			return n.away("a wrong answer: a source of %s at %d times", s.typ.Sample, of.times)
		}
	}
	return nil
}

// keep keeps the nodes with an answer.
func (m *merging) keep(nodes []*node, answers [][]summed) {
	m.nodes, m.answers = nil, nil
	for i, own := range answers {
		if own != nil {
			m.nodes, m.answers = append(m.nodes, nodes[i]), append(m.answers, own)
		}
	}
}

// wants looks the stacks up, assigns each one that is not known to the first node that has it, and reports whether there are any.
func (m *merging) wants() (isAny bool) {
	asked := map[profile.StackID]bool{}
	for _, own := range m.answers {
		for k := range own {
			s := &own[k]
			s.codes, s.wanted = m.shelf.find(s.codes, s.ids), nil
			for i, code := range s.codes {
				if id := s.ids[i]; code == 0 && !asked[id] && len(s.wanted) < MaxWanted {
					asked[id] = true
					s.wanted = append(s.wanted, id)
				}
			}
			isAny = isAny || len(s.wanted) > 0
		}
	}
	return isAny
}

// askWanted asks nodes for the stacks that are assigned to them, and adds them to the shelf. A node that fails leaves the question.
func (m *merging) askWanted(ctx context.Context) error {
	each := func(i int) (questions []Question) {
		for k, s := range m.answers[i] {
			if len(s.wanted) > 0 {
				questions = append(questions, m.sides[k].ask(s.wanted))
			}
		}
		return questions
	}
	all, answers := m.nodes, make([][]summed, len(m.nodes))
	err := m.set.gatherEach(ctx, all, 0.25, each, func(i int, replies []reply) error {
		for _, s := range m.answers[i] {
			if len(s.wanted) == 0 {
				continue
			}
			located, err := decodeLocated(replies[0].body, s.wanted)
			if err != nil {
				return all[i].away("a wrong answer: %v", err)
			}
			if err := m.shelf.add(s.wanted, located); err != nil {
				return err
			}
			replies = replies[1:]
		}
		answers[i] = m.answers[i]
		return nil
	})
	m.keep(all, answers)
	return err
}

// rows returns the rows of all nodes, and sets the times of sources. The sums of a stack are one row, but for gauges, of which each source
// of a node has rows of its own.
func (m *merging) rows() (all []shelfRows) {
	m.of = newSourcesOf()
	for k, side := range m.sides {
		number := strconv.Itoa(k)
		labels := map[string]string{sideLabel: number, profile.NameLabel: AnyName}
		if !side.typ.IsGauge() {
			all = append(all, m.summedRows(k, labels))
			continue
		}
		for _, own := range m.answers {
			for i := range own[k].sources {
				s := &own[k].sources[i]
				source := m.of.add(number, s.labels, s.times)
				codes := make([]uint32, len(s.stacks))
				for i, at := range s.stacks {
					codes[i] = own[k].codes[at]
				}
				all = append(all, shelfRows{map[string]string{sideLabel: number, profile.NameLabel: AnyName, sourceLabel: source}, side.typ, codes, s.values})
			}
		}
	}
	m.of.commit()
	return all
}

// summedRows returns the rows of a side of no gauges.
func (m *merging) summedRows(side int, labels map[string]string) shelfRows {
	rows := shelfRows{labels: labels, typ: m.sides[side].typ}
	var place []int32 // by code: 1 and its index in rows
	for _, own := range m.answers {
		if most := slices.Max(append(own[side].codes, 0)); int(most) >= len(place) {
			place = append(place, make([]int32, int(most)+1-len(place))...)
		}
		for i := range own[side].sources {
			s := &own[side].sources[i]
			for k, at := range s.stacks {
				code := own[side].codes[at]
				if place[code] == 0 {
					rows.codes, rows.values = append(rows.codes, code), append(rows.values, 0)
					place[code] = int32(len(rows.codes))
				}
				rows.values[place[code]-1] += s.values[k]
			}
		}
	}
	return rows
}

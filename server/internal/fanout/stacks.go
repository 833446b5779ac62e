package fanout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

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
	return Question{Path: s.path, Body: q.Encode(), Media: BytesMedia, Kinds: !s.isNamed && wanted == nil}
}

// BytesMedia is the media type of a StackQuestion and of its answer, and of pprof.
const BytesMedia = "application/octet-stream"

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
	isFull, err := s.stacksOn(ctx, sides, t, false, f)
	if isFull {
		isFull, err = s.stacksOn(ctx, sides, t, true, f)
	}
	if isFull {
		err = fmt.Errorf("%w: %w", columnstore.ErrQueryMemory, err)
	}
	return err
}

// stacksOn is Stacks on the present shelf, or on an empty one. isFull reports that the shelf had no room, before f was called.
func (s *Set) stacksOn(ctx context.Context, sides []Side, t Typed, isEmpty bool, f func(db *profile.DB, at int64, times *profile.Times) error) (isFull bool, err error) {
	h, err := s.shelves.take(ctx, s.shelfBytes(), isEmpty)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.shelves.give(h, isFull)) }()
	m := &merging{set: s, shelf: h, sides: sides, typ: t, nodes: s.nodesOf(t), left: s.opts.Memory}
	at, err := m.put(ctx)
	if err != nil {
		return errors.Is(err, errFull), err
	}
	defer h.drop(at)
	return false, f(h.db, at, &m.of.times)
}

// shelfBytes is the memory of a shelf, of which two can live. All questions share it, and the other half of what they may take together is for the
// nodes' answers.
func (s *Set) shelfBytes() int64 { return int64(max(4, s.opts.Queries)) * s.opts.Memory / 4 }

// merging is a question about stacks in progress.
type merging struct {
	set     *Set
	shelf   *shelf
	sides   []Side
	typ     Typed
	left    int64      // bytes for the answers
	until   time.Time  // end of the nodes' time
	nodes   []*node    // that answered so far
	answers [][]summed // by node and side
	of      *sourcesOf
}

// summed are the sums of a node and a side.
type summed struct {
	stackSums
	kinds  kindsOf           // of the profiles, unless they are added up
	codes  []uint32          // of the ids; 0 is not known yet
	wanted []profile.StackID // that this node is asked for
	isNew  bool              // the sums were asked for again, because the node lacked stacks of its first ones
}

// put asks the nodes, and puts the rows of their answers on the shelf, at the time that it returns. The nodes have three quarters of the time.
func (m *merging) put(ctx context.Context) (at int64, err error) {
	left := m.set.timeLeft(ctx)
	m.until = time.Now().Add(left - left/4)
	m.answers = make([][]summed, len(m.nodes))
	err = m.ask(ctx)
	for err == nil && m.wants() {
		if err = m.askWanted(ctx); err == nil {
			err = m.ask(ctx)
		}
	}
	if err == nil {
		err = m.checkKinds()
	}
	if err != nil {
		return 0, err
	}
	return m.shelf.put(ctx, m.rows())
}

// gather asks the nodes as Set.gatherEach does, until the time of the nodes is over.
func (m *merging) gather(ctx context.Context, each func(node int) []Question, use func(int, []reply) error) error {
	share := 1 - float64(time.Until(m.until))/float64(m.set.timeLeft(ctx))
	return m.set.gatherEach(ctx, m.nodes, max(0, share), each, use)
}

// ask asks the nodes for sums that have not answered yet, or whose answer is out of date.
func (m *merging) ask(ctx context.Context) error {
	if !slices.ContainsFunc(m.answers, func(own []summed) bool { return len(own) < len(m.sides) }) {
		return nil
	}
	each := func(i int) (questions []Question) {
		for k := range m.sides {
			if len(m.answers[i]) < len(m.sides) {
				questions = append(questions, m.sides[k].ask(nil))
			}
		}
		return questions
	}
	all, answers := m.nodes, make([][]summed, len(m.nodes))
	err := m.gather(ctx, each, func(i int, replies []reply) error {
		if answers[i] = m.answers[i]; len(replies) == 0 {
			return nil
		}
		own, err := m.decode(all[i], replies, answers[i] != nil)
		answers[i] = own
		return err
	})
	m.keepOf(all, answers)
	return err
}

// decode returns a node's sums. isNew says that they were asked for again.
func (m *merging) decode(n *node, replies []reply, isNew bool) ([]summed, error) {
	own := make([]summed, len(m.sides))
	for k := range m.sides {
		sums, err := decodeSums(replies[k].body, &m.left)
		switch {
		case errors.Is(err, columnstore.ErrQueryMemory):
			return nil, err
		case err != nil:
			return nil, n.away("a wrong answer: %v", err)
		}
		own[k] = summed{stackSums: sums, kinds: kindsOf{}, isNew: isNew}
		err = m.sides[k].check(n, &sums)
		if err == nil && !m.sides[k].isNamed && len(sums.ids) > 0 {
			err = own[k].kinds.add(n, replies[k].kinds)
		}
		if err != nil {
			return nil, err
		}
	}
	return own, nil
}

// allTimes bounds the times of all sources of an answer, because those of all nodes must add up without overflow.
const allTimes = 1 << 50

// check returns an error for sums that the side cannot have.
func (s *Side) check(n *node, sums *stackSums) error {
	times := int64(0)
	for _, of := range sums.sources {
		if times += of.times; times > allTimes {
			return n.away("a wrong answer: sources at %d times", times)
		}
		if isGauge := s.typ.IsGauge(); isGauge && of.times < 1 || !isGauge && (of.times != 0 || len(of.labels) > 0) {
			return n.away("a wrong answer: a source of %s at %d times", s.typ.Sample, of.times)
		}
	}
	return nil
}

// keepOf keeps the nodes with an answer.
func (m *merging) keepOf(nodes []*node, answers [][]summed) {
	m.nodes, m.answers = nil, nil
	for i, own := range answers {
		if own != nil {
			m.nodes, m.answers = append(m.nodes, nodes[i]), append(m.answers, own)
		}
	}
}

// checkKinds checks the kinds of the profiles of all nodes.
func (m *merging) checkKinds() error {
	for k := range m.sides {
		kinds := kindsOf{}
		for _, own := range m.answers {
			kinds.join(own[k].kinds)
		}
		if err := kinds.check(m.typ.types()...); err != nil {
			return err
		}
	}
	return nil
}

// wants looks the stacks up, assigns each one that is not known to the first node that has it, and reports whether there are any.
func (m *merging) wants() (isAny bool) {
	asked := map[profile.StackID]bool{}
	for i, own := range m.answers {
		for k := range own {
			s := &own[k]
			s.codes, s.wanted = m.shelf.find(s.codes, m.nodes[i].url, s.ids), nil
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

// askWanted asks nodes for the stacks that are assigned to them, and adds them to the shelf. A node that fails leaves the question. One that lacks
// stacks, because its rows or its names changed, has an answer that is out of date, once.
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
	err := m.gather(ctx, each, func(i int, replies []reply) error {
		isOld := false
		for _, s := range m.answers[i] {
			if len(s.wanted) == 0 {
				continue
			}
			located, err := decodeLocated(replies[0].body, s.wanted)
			if err != nil {
				return all[i].away("a wrong answer: %v", err)
			}
			if err := m.shelf.add(all[i].url, s.wanted, located); err != nil {
				return err
			}
			if slices.ContainsFunc(located.Stacks, func(stack []uint32) bool { return stack == nil }) {
				if isOld = true; s.isNew {
					return all[i].away("its profiles changed meanwhile")
				}
			}
			replies = replies[1:]
		}
		if answers[i] = m.answers[i]; isOld {
			answers[i] = []summed{}
		}
		return nil
	})
	m.keepOf(all, answers)
	return err
}

// rows returns the rows of all nodes, and sets the times of sources. The sums of a stack are one row, but for gauges, of which each source
// of a node has rows of its own.
func (m *merging) rows() (all []shelfRows) {
	m.of = newSourcesOf()
	for k, side := range m.sides {
		number := strconv.Itoa(k)
		if !side.typ.IsGauge() {
			all = append(all, m.summedRows(k, map[string]string{sideLabel: number, profile.NameLabel: AnyName}))
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

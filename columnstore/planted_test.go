//go:build planted

package columnstore

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// planted is a bug: edits of shipped code that a test must find.
type planted struct {
	name  string
	edits []edit
	by    string // the test that must find it; empty: the simulator
	from  int    // the first seed of the simulator, if it finds the bug late; 0: 1
	in    string // its package; empty: columnstore
}

// edit replaces text that is in a file exactly once.
type edit struct {
	file     string // below the root of the module
	old, new string
}

// one is a bug of a single edit.
func one(file, before, after string) []edit { return []edit{{file, before, after}} }

// What several bugs change.
const (
	carried    = "if part := slice.Within(s, child.lo, child.hi); part.Rows() > 0 {"
	merged     = "	s.opts.Yield(\"maintain/merged\")\n"
	mergeBegin = "	children := granule.Rewrite(t.schema, g, "
	replaced   = "		edit.replace(now, successors)\n"
	rewriteEnd = "	s.opts.Yield(\"maintain/published\")\n"
	pieceAdded = "		tx.pieces = append(tx.pieces, p)\n"
)

// rootOf is code that publishes a root of its own, with a change to one table.
func rootOf(change string) string {
	return "s.log.Rewrite(func(current *txn.Root[*root]) (next txn.Next[*root], ok bool) {\n" +
		"	edit := current.State.tables[t.ordinal].edit(t)\n" + change +
		"	next.State = current.State\n	edit.done(current.Version+1, &next)\n	return next, true\n})\n"
}

// showNames is code that puts the columns of uncommitted rows among the committed,
// and into the account.
const showNames = `	for _, b := range tx.store.log.Root().State.table(%[1]s.ordinal).buckets.All() {
		for _, name := range %[2]s {
			if b.columns != nil && !b.columns[name] {
				b.columns[name] = true
				tx.store.log.Root().State.bytes += columnSize
				tx.store.log.Root().State.table(%[1]s.ordinal).bytes += columnSize
			}
		}
	}
`

// ancestors are bugs that FrostDB had, another implementation of RFC-001, as the
// same mistakes would be here. The numbers are of its issues and pull requests.
var ancestors = []planted{
	{name: "FrostDB #71: reads between a commit and the end of a compaction miss rows", edits: []edit{
		{"columnstore/maintain.go", mergeBegin, "	at, _ := g.Bounds()\n	" +
			rootOf("		if found, now, ok := edit.granules.Floor(at); ok && found == at && now == g {\n			edit.granules.Delete(at)\n"+
				"			edit.left = append(edit.left, g.Slices()...)\n			edit.state.bytes -= granuleSize\n		}\n") +
			"	s.opts.Yield(\"maintain/unlinked\")\n" + mergeBegin},
		{
			"columnstore/maintain.go", "		now, ok := state.granules.Get(bound)\n",
			"		now, ok := state.granules.Get(bound)\n		gone := !ok\n		if gone {\n			now, ok = g, true\n		}\n",
		},
		{"columnstore/maintain.go", replaced, "		if gone {\n			edit.entered = append(edit.entered, g.Slices()...)\n			edit.state.bytes += granuleSize\n		}\n" + replaced},
		{"columnstore/tx.go", "hi = rows.Search(lo, p.hi)\n", "hi = max(rows.Search(lo, p.hi), lo+1) // rows may be in the gap: go on\n"},
	}},
	{name: "FrostDB #84: children are in the index while their parent is, rows are read twice", edits: []edit{
		{"columnstore/maintain.go", merged, rootOf("	for _, child := range children[1:] {\n		at, _ := child.Bounds()\n		edit.granules.Set(at, child)\n"+
			"		edit.entered = append(edit.entered, child.Slices()...)\n		edit.state.bytes += granuleSize\n	}\n") + merged},
		{"columnstore/maintain.go", replaced, replaced + "		for _, child := range children[1:] {\n			edit.left = append(edit.left, child.Slices()...)\n" +
			"			edit.state.bytes -= granuleSize\n		}\n"},
	}},
	{name: "FrostDB #81: a child granule is compacted before it is in the index", edits: []edit{
		{"columnstore/maintain.go", merged, "	again := granule.Rewrite(t.schema, children[len(children)-1], granule.Limit{Rows: 1 << 30})\n" + merged},
		{"columnstore/maintain.go", rewriteEnd, rewriteEnd + "	if at, _ := again[0].Bounds(); ok && len(children) > 1 {\n		" +
			rootOf("		if found, now, ok := edit.granules.Floor(at); ok && found == at {\n			edit.replace(now, again)\n		}\n") + "	}\n"},
	}},
	{
		name:  "FrostDB #86, #96: a compaction races with an insert: parts since its begin are forgotten",
		edits: one("granule/granule.go", "since = append(since, c.slice)", "since = since[:0]"),
	},
	{
		name:  "FrostDB #86, #96: an insert races with a split: its part goes to the parent only",
		edits: one("columnstore/root.go", "if hi != p.hi {", "if false {"),
	},
	{
		name: "FrostDB #729: a compaction is stamped with the least commit id of its parts",
		edits: one("granule/rewrite.go", "stamp.commit = max(stamp.commit, slice.Part.commit)",
			"if stamp.commit == 0 || slice.Part.commit < stamp.commit {\n			stamp.commit = slice.Part.commit\n		}"),
	},
	{
		name:  "FrostDB #729: a compaction is stamped with a begin id that is not the least",
		edits: one("granule/rewrite.go", "stamp.begin = min(stamp.begin, slice.Part.begin)", "stamp.begin = max(stamp.begin, slice.Part.begin)"),
	},
	{name: "FrostDB: a compaction sorts the list of parts in place, under older snapshots", edits: []edit{
		{"granule/rewrite.go", "	slices := g.Slices()\n", "	g.sortParts(s)\n	slices := g.Slices()\n"},
		{"granule/granule.go", "// Slices returns the parts", "func (g *Granule) sortParts(s *schema.Schema) {\n	var sorted []Slice\n" +
			"	for c := g.fresh; c != nil; c = c.next {\n		sorted = append(sorted, c.slice)\n	}\n" +
			"	slices.SortStableFunc(sorted, func(a, b Slice) int {\n" +
			"		x := frameOf(s, a.Part, a.Lo, a.Lo+1, new(slab)).appendKey(nil, 0)\n		return bytes.Compare(x, frameOf(s, b.Part, b.Lo, b.Lo+1, new(slab)).appendKey(nil, 0))\n	})\n" +
			"	for c := g.fresh; c != nil; c = c.next {\n		c.slice, sorted = sorted[0], sorted[1:]\n	}\n}\n\n// Slices returns the parts"},
		{"granule/granule.go", "import (\n", "import (\n	\"bytes\"\n"},
	}},
	{
		name: `FrostDB: answers to label!="x" change with compaction: fresh rows without the label match, merged ones do not`, by: "TestMetamorphic$",
		edits: one("columnstore/mask.go", "		if word == 0 {\n			return l.null\n", "		if word == 0 {\n			return false\n"),
	},
	{name: "a compaction swallows an uncommitted part", edits: []edit{
		{"columnstore/table.go", "	ordinal int\n", "	ordinal int\n	open    []piece\n"},
		{"columnstore/tx.go", pieceAdded, pieceAdded + "		t.open = append(t.open, p)\n"},
		{"columnstore/maintain.go", mergeBegin, "	whole, lo, hi := g, \"\", \"\"\n	lo, hi = g.Bounds()\n	for _, p := range t.open {\n" +
			"		if in := (granule.Slice{Part: p.part, Hi: p.part.Rows()}).Within(t.schema, lo, hi); in.Rows() > 0 {\n			whole = whole.With(in)\n		}\n	}\n" +
			"	t.open = nil\n	children := granule.Rewrite(t.schema, whole, "},
	}},
	{name: "a compaction swallows a newer part", edits: one("columnstore/maintain.go", mergeBegin,
		"	at, _ := g.Bounds()\n	newer, there := s.log.Root().State.table(t.ordinal).granules.Get(at)\n	if !there {\n		newer = g\n	}\n"+
			"	children := granule.Rewrite(t.schema, newer, ")},
	{name: "an abort leaves a label name", edits: one("columnstore/tx.go", "	tx.tx.Abort()\n",
		"	for _, p := range tx.pieces {\n"+fmt.Sprintf(showNames, "p.table", "p.columns")+"	}\n	tx.tx.Abort()\n")},
}

// others are mistakes that are as easily made.
var others = []planted{
	{
		name:  "eviction of a granule that is still being inserted into",
		edits: one("columnstore/tx.go", "if p.bucket < e.state.floor {", "if p.bucket < e.state.floor && tx.store.memory.budget == 0 {"),
	},
	{
		name:  "eviction takes the newest bucket",
		edits: one("columnstore/memory.go", "(start < newest ||", "(start <= newest ||"),
	},
	{
		name:  "eviction does not raise the floor",
		edits: one("columnstore/memory.go", "edit.state.evicted += edit.dropBefore(floor)", "before := edit.state.floor\n		edit.state.evicted += edit.dropBefore(floor)\n		edit.state.floor = before"),
	},
	{name: "an expired snapshot still answers", edits: []edit{
		{"txn/snapshot.go", "	at     atomic.Pointer[published[R]]\n", "	at     atomic.Pointer[published[R]]\n	kept   *Root[R]\n"},
		{"txn/snapshot.go", "			s.commit = p.commit\n", "			s.commit = p.commit\n			s.kept = p.root.Load()\n"},
		{"txn/snapshot.go", "		return state, ErrSnapshotExpired\n", "		return s.kept.State, nil\n"},
	}},
	{
		name:  "what a snapshot of the very root that lost it holds is not counted",
		edits: one("txn/held.go", "	if last := len(l.held) - 1; last >= 0 && l.held[last].version >= g.Since {\n		l.held[last]", "	if last := len(l.held) - 1; last >= 0 && l.held[last].version > g.Since {\n		l.held[last]"),
	},
	{
		name:  "what only older snapshots hold is forgotten with the newest of them",
		edits: one("txn/held.go", "last >= 0 && kept[last].version >= g.Since", "last >= 0 && kept[last].version > h.version"),
	},
	{
		name:  "what snapshots hold does not count in the budget",
		edits: one("columnstore/memory.go", "s.memory.pending.Load() + s.log.Held()", "s.memory.pending.Load()"),
	},
	{
		name:  "rows are taken although there is no room for them",
		by:    "TestMemory_HeldByReadIsNoRoom$",
		edits: one("columnstore/memory.go", "case !s.evictUnread(in):\n			return false", "case !s.evictUnread(in):\n			return true"),
	},
	{
		name:  "a part that two granules share is counted out with the first of them",
		edits: one("granule/part.go", "	return p.uses == 0\n", "	return p.uses <= 1\n"),
	},
	{name: "a root is published with the commit id before its own", edits: one("txn/log.go", "l.publish(id, next)", "l.publish(id-1, next)")},
	{name: "a commit id is taken before the commit lock: the watermark passes an unfinished commit", edits: one("txn/log.go",
		"	id := l.nextID()\n", "	id := t.begin\n")},
	{name: "a snapshot's commit id is read later than its root", edits: one("columnstore/store.go",
		"return s.state.Commit()", "return s.store.log.Root().Commit")},
	{name: "the index is read later than the snapshot", edits: one("columnstore/choose.go",
		"		state := use.State.table(t.ordinal)\n", "		state := t.store.log.Root().State.table(t.ordinal)\n")},
	{name: "a part inserted during a split is missing from a child", edits: one("granule/granule.go",
		carried, strings.Replace(carried, "> 0", "> 0 && i == 0", 1))},
	{name: "no bounds filter after a split", edits: one("granule/granule.go", carried, "if part := slice; part.Rows() > 0 {")},
	{name: "a row range is off by one at a bound", edits: one("granule/part.go",
		"		to = s.search(sch, hi)\n", "		to = min(s.Hi, s.search(sch, hi)+1)\n")},
	{name: "the first granule of a bucket is bounded from below", edits: one("columnstore/root.go",
		"return granule.New(e.schema.BucketBounds(p.bucket))", "bucketLo, bucketHi := e.schema.BucketBounds(p.bucket)\n	return granule.New(bucketLo+\"\\x01b\", bucketHi)")},
	{name: "an abort leaves its parts", edits: one("columnstore/tx.go", "	tx.tx.Abort()\n", "	_, _ = tx.Commit()\n")},
	{name: "an abort keeps its bytes pending", by: "TestMetamorphic$", edits: one("columnstore/tx.go", "	tx.tx.Abort()\n	tx.end()\n", "	tx.tx.Abort()\n")},
	{name: "an insert shows its columns before it commits", edits: one("columnstore/tx.go", pieceAdded,
		pieceAdded+fmt.Sprintf(showNames, "t", "p.columns"))},
	{name: "a rewrite is published over a changed granule", edits: one("granule/granule.go",
		"	if g.lo != old.lo || g.hi != old.hi || g.base != old.base {\n", "	if g.base != old.base {\n		return children, true\n	}\n	if g.lo != old.lo || g.hi != old.hi {\n")},
	{name: "a rewrite starts from a root of before its merge", edits: []edit{
		{"columnstore/maintain.go", mergeBegin, "	stale := s.log.Root()\n" + mergeBegin},
		{"columnstore/maintain.go", "		state := current.State.tables[t.ordinal]\n", "		current = stale\n		state := current.State.tables[t.ordinal]\n"},
	}},
	{name: "a transaction over two tables loses one", edits: one("columnstore/tx.go",
		"		e.done(current.Version+1, &next)\n", "		next.State = current.State\n		e.done(current.Version+1, &next)\n")},
	{name: "a transaction over two tables is published in two steps", edits: one("columnstore/tx.go",
		"	s.opts.Yield(\"commit/start\")\n", "	for i, p := range tx.pieces {\n		if p.table != tx.pieces[0].table {\n			first := s.Begin()\n"+
			"			first.pieces, tx.pieces = tx.pieces[:i], tx.pieces[i:]\n			if _, err := first.Commit(); err != nil {\n				return 0, err\n			}\n			break\n		}\n	}\n"+
			"	s.opts.Yield(\"commit/start\")\n")},
	{name: "a split loses the rows at its cut", edits: one("granule/rewrite.go", "		lo, bound = hi, next\n", "		lo, bound = hi+1, next\n")},
	{name: "the last granule of a split has no upper bound", edits: one("granule/rewrite.go",
		"		child := New(bound, next)\n", "		child := New(bound, next)\n		if hi == len(m.order) {\n			child = New(bound, \"\")\n		}\n")},
	{name: "rows with equal keys come to both sides of a cut", edits: []edit{
		{"granule/rewrite.go", "m.keyChanges} {", "m.keyChanges, func(int) bool { return true }} {"},
		{"granule/rewrite.go", "	for i := range b {\n		if i == len(a) ||", "	if string(a) == string(b) {\n		return b, true\n	}\n	for i := range b {\n		if i == len(a) ||"},
	}},
	{name: "a merge takes equal rows once", edits: one("granule/merge.go", "		m.add(stretches[leaf].frame, r.row)\n",
		"		next := rowRef{stretches[leaf].frame, r.row}\n		key := func(r rowRef) string { return string(m.frames[r.frame].appendKey(nil, int(r.row))) }\n"+
			"		if n := len(m.order); n == 0 || key(m.order[n-1]) != key(next) {\n			m.add(next.frame, next.row)\n		}\n")},
	{name: "retention drops a bucket too much", edits: one("columnstore/root.go",
		"e.schema.BucketStart(e.state.newest - retention)", "e.schema.BucketStart(e.state.newest-retention) + e.schema.BucketWidth()")},
	{name: "a commit brings back what retention dropped", edits: one("columnstore/tx.go", "		if p.bucket < e.state.floor {\n", "		if false {\n")},
	{name: "a generation goes before its last bucket", edits: one("columnstore/table.go", "if number >= first {", "if number > first {")},
}

// ofCodes are mistakes with codes, headers and what is kept of lists and words.
var ofCodes = []planted{
	{name: "a split's headers begin with the last of the series before", edits: one("granule/header.go",
		"m.headers[i][first+uint64(k)]", "m.headers[i][max(first, 1)-1+uint64(k)]")},
	{name: "a row gets the header of the row before in its series", edits: one("granule/header.go",
		"relative = append(relative, place[o-first]-1)", "relative = append(relative, max(place[o-first], 2)-2)")},
	{name: "rows of one list and time are not compared further", edits: one("granule/merge.go",
		"ties(words, rowBits, func(lo, hi int) {", "ties(words[:0], rowBits, func(lo, hi int) {")},
	{name: "rows of one list are not sorted by time", edits: one("granule/merge.go",
		"word = word<<timeBits | ranks[h.of(int(row))-m.first]", "word = word<<timeBits | ranks[h.of(int(row))-m.first]*0")},
	{name: "a list is found by its slot alone", by: "TestCodes_ManyLists$", edits: []edit{
		{"encoding/idset.go", "*s.ids.at(int(code) - 1) == *id {", "id != nil {"},
		{"encoding/idset.go", "(*directory)[(code-1)/pageLen][(code-1)%pageLen] != ids[i] {", "len(*directory) == 0 {"},
		{"encoding/idset.go", "(word^uint32(hash))&^in.codes == 0 {", "(word^uint32(hash))&^in.codes >= 0 {"},
		{"encoding/idset.go", "(word^uint32(hash))&^in.codes != 0 {", "(word^uint32(hash))&^in.codes < 0 {"},
	}},
	{name: "an element is added without a second look under the lock", by: "TestCodes_Once$", edits: one("encoding/listdict.go",
		"	if code := d.elements.find(id, hash); code != 0 {\n		return code, nil\n	}\n	if d.elements.len()", "	if d.elements.len()")},
	{name: "a list is added without a second look under the lock", by: "TestCodes_Once$", edits: []edit{
		{"encoding/listintern.go", "others := d.settled.Load() != w.settled", "others := d.settled.Load() < w.settled"},
		{"encoding/listintern.go", "if i > 0 && *hash == w.hashes[w.fresh[i-1].at] {", "if i < 0 {"},
	}},
	{name: "a list shares a code too many with the one before", edits: one("encoding/front.go",
		"shared = sharedFront(f.last, list)", "shared = min(len(f.last), len(list), sharedFront(f.last, list)+1)")},
	{name: "the last exception of a block is dropped", by: "TestCodes_Outliers$", edits: one("encoding/blocks.go",
		"range src[packed:end] {", "range src[packed:max(packed, end-1)] {")},
	{name: "codes of another generation are taken", by: "TestCodes_InsertErrors$", edits: []edit{
		{"columnstore/codes.go", "t.generationOf(b.start) != c.gen.number {", "from > to {"},
		{"columnstore/codes.go", "b.start < floor || !t.keeps(c.gen) {", "b.start < floor {"},
	}},
	{name: "codes of another table are taken", by: "TestCodes_InsertErrors$", edits: one("columnstore/codes.go", "if c.table != t {", "if c == nil {")},
	{name: "a list that nobody gave a code is taken", by: "TestCodes_InsertErrors$", edits: one("columnstore/codes.go", "if code > lists ", "if code > lists+1 ")},
	{name: "rows get the codes of one generation and the dictionaries of another", by: "TestCodes_DroppedMeanwhile$", edits: one("columnstore/tx.go",
		"		return codes.gen\n", "		return t.generation(bucket)\n")},
	{name: "parts of inserts share their memory", edits: []edit{
		{"encoding/words.go", "	slab := make([]uint64, total)\n", "	if total > len(packSlab) {\n		packSlab = make([]uint64, total)\n	}\n	slab := packSlab[:total]\n"},
		{"encoding/words.go", "// Pack appends", "var packSlab []uint64\n\n// Pack appends"},
	}},
	{name: "the first label of a series that is given by code is not noted", by: "TestCodes_Names$", edits: one("columnstore/tx.go",
		"if s.Columns()[column].Dynamic && !known.columns[string(name)] {", "if s.Columns()[column].Dynamic && !known.columns[string(name)] && len(names) > 0 {")},
	{name: "a series that is known in one bucket is taken to be in all", by: "TestCodes_Names$", edits: one("columnstore/tx.go",
		"	if !ok || known.start != in.start {\n", "	if !ok {\n")},
	{name: "what is interned does not count", by: "TestCodes_Budget$", edits: one("columnstore/codes.go", "	defer c.table.count(c.gen)\n", "")},
}

// ofCuts are bugs of buckets that begin amid a range.
var ofCuts = []planted{
	{name: "a question of a time leaves out the late rows of the bucket before", by: "TestQueries$", edits: one("columnstore/read.go",
		"from, _ = t.schema.BucketBounds(t.schema.BucketStart(lo))", "from, _ = t.schema.BucketBounds(lo)")},
	{name: "a question of a time leaves out what was cut off after its begin", by: "TestQueries$", edits: one("columnstore/read.go",
		"to, _ = t.schema.BucketBounds(hi)", "to, _ = t.schema.BucketBounds(t.schema.BucketStart(hi))")},
	{name: "the keys of a bucket end with its range", edits: one("schema/key.go",
		"s.AppendBucket(nil, start+1)", "s.AppendBucket(nil, max(s.BucketEnd(s.BucketStart(start)), start+1))")},
	{name: "eviction drops the first bucket of a range that was cut", edits: one("columnstore/memory.go",
		"end := t.schema.BucketEnd(v.start)", "end := v.start + 1")},
	{name: "a range that can be evicted counts with each of its buckets", by: "TestCut_Drops$", edits: one("columnstore/memory.go",
		"out[n-1].start == start {", "out[n-1].start > start {")},
	{name: "rows that come for a bucket after its cut are not noted", by: "TestCut_Late$", edits: one("columnstore/cut.go",
		"newest > b.latest {", "newest > b.latest && false {")},
	{name: "a cut notes the newest row of its own commit", by: "TestQueries$", edits: one("columnstore/cut.go",
		"before.latest = e.state.newest", "before.latest = e.latest")},
	{name: "a cut is behind the newest row of all", by: "TestCut$", edits: one("columnstore/cut.go",
		"at := e.latest + 1", "at := e.state.newest + 1")},
	{name: "a row of a new bucket's first time goes to the one before", by: "TestCut$", edits: one("columnstore/buckets.go",
		"if b.start > at {", "if b.start >= at {")},
}

// TestPlantedBugs builds the package with each bug in turn and runs the test
// that must find it: the simulator, of at most 10,000 histories, or another. The
// same history must be sound without the bug. Bugs are tried GOMAXPROCS at a time.
func TestPlantedBugs(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(root, "columnstore")
	sound := map[string]string{}
	for _, in := range []string{"columnstore", "history", "encoding"} {
		sound[in] = buildWith(t, root, in, nil)
	}
	for _, bug := range slices.Concat(ancestors, others, ofCuts, ofCodes, ofQueries, ofHistories) {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			if bug.in != "" {
				findElsewhere(t, root, bug, sound[bug.in])
				return
			}
			if bug.by == "" {
				bug.by = "TestSimulation$"
			}
			first := strconv.Itoa(max(1, bug.from))
			out, err := runTest(here, buildWith(t, root, "columnstore", bug.edits), bug.by, "-sim.seed", first, "-sim.seeds", "10000")
			if err == nil {
				t.Fatalf("%s did not find it:\n%s", bug.by, out)
			}
			seed := seedOf.FindSubmatch(out)
			if seed == nil && !drawn.MatchString(bug.by) { // it does the same each time
				seed = [][]byte{nil, []byte("1")}
			}
			if seed == nil || !said.Match(out) {
				t.Fatalf("%s failed without a seed:\n%s", bug.by, out)
			}
			t.Logf("%s: %s found it at seed %s: %.150s", bug.name, strings.TrimSuffix(bug.by, "$"), seed[1], said.FindSubmatch(out)[1])
			at := string(seed[1])
			if out, err := runTest(here, sound["columnstore"], bug.by, "-sim.seed", at, "-sim.seeds", "1", "-meta.seed", at, "-meta.lists", "1",
				"-queries.seed", at, "-queries.pairs", "1"); err != nil {
				t.Errorf("the same fails without the bug:\n%s", out)
			}
		})
	}
}

// findElsewhere runs a test of another package, which does the same each time, with a bug
// and without. What rapid finds there is no failure to keep.
func findElsewhere(t *testing.T, root string, bug planted, sound string) {
	here := filepath.Join(root, bug.in)
	out, err := runTest(here, buildWith(t, root, bug.in, bug.edits), bug.by, "-rapid.nofailfile")
	if err == nil || !said.Match(out) {
		t.Fatalf("%s did not find it: %v\n%s", bug.by, err, out)
	}
	t.Logf("%s: %s found it: %.150s", bug.name, strings.TrimSuffix(bug.by, "$"), said.FindSubmatch(out)[1])
	if out, err := runTest(here, sound, bug.by); err != nil {
		t.Errorf("the same fails without the bug:\n%s", out)
	}
}

// What a failed test says: the seed, and what is wrong.
var (
	seedOf = regexp.MustCompile(`\bseed (\d+)`)
	said   = regexp.MustCompile(`_test\.go:\d+: (.*)`)
)

// drawn are the tests that draw what they do and must name the seed it was drawn from.
var drawn = regexp.MustCompile(`^Test(Simulation|Metamorphic|Queries)\$$`)

// runTest runs one test of a package that was built, in its folder.
func runTest(folder, binary, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(binary, append([]string{"-test.timeout", "2m", "-test.run", name}, args...)...)
	cmd.Dir = folder
	return cmd.CombinedOutput()
}

// buildWith compiles the tests of a package with edits made by an overlay:
// the files themselves stay as they are.
func buildWith(t *testing.T, root, pkg string, edits []edit) (binary string) {
	t.Helper()
	dir := t.TempDir()
	text := map[string]string{} // by path
	for _, e := range edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		if text[path] == "" {
			shipped, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text[path] = string(shipped)
		}
		if n := strings.Count(text[path], e.old); n != 1 {
			t.Fatalf("%s has the text to edit %d times, want once:\n%s", e.file, n, e.old)
		}
		text[path] = strings.Replace(text[path], e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, edited := range text {
		replace[path] = filepath.Join(dir, fmt.Sprintf("edited%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(edited), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, pkg+".test")
	// Without symbols the link takes half the time, without inlining the compiler two thirds.
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=-l", "-overlay", overlayFile, "-o", binary, "./"+pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the planted bug does not build: %v\n%s", err, out)
	}
	return binary
}

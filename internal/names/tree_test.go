package names

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/effort"
)

// A tree is a map from paths under any additions and removals, and a view never changes.
func TestTreeModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newTreePair(rapid.Uint64().Draw(rt, "seed"))
		name := rapid.OneOf(rapid.SampledFrom(oddNames), rapid.StringN(0, 4, -1), rapid.StringMatching(`[a-z]`))
		parent := rapid.Custom(func(t *rapid.T) int {
			if rapid.Bool().Draw(t, "early") {
				return rapid.IntRange(0, 3).Draw(t, "parent")
			}
			return rapid.IntRange(0, 1<<20).Draw(t, "parent")
		})
		tb := rapidTB{TB: t, rt: rt}
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) { p.add(tb, p.parent(parent.Draw(rt, "parent")), name.Draw(rt, "name")) },
			"many": func(rt *rapid.T) {
				from := p.parent(parent.Draw(rt, "parent"))
				for i := range rapid.IntRange(1, 60).Draw(rt, "n") {
					p.add(tb, from, strconv.Itoa(i))
				}
			},
			"refuse": func(rt *rapid.T) {
				p.refuse(tb, p.parent(parent.Draw(rt, "parent")), rapid.SampledFrom(badNames).Draw(rt, "name"), ErrLimit)
				n := len(p.oracle.nodes)
				p.refuse(tb, Attribute(rapid.IntRange(n, n+2).Draw(rt, "unknown")), name.Draw(rt, "name"), ErrAttribute)
			},
			"view": func(*rapid.T) { p.view() },
			"truncate": func(rt *rapid.T) {
				p.truncate(rapid.IntRange(0, len(p.oracle.nodes)).Draw(rt, "n"))
			},
			"check": func(*rapid.T) { p.check(tb) },
		})
		p.check(tb)
	})
}

// FuzzTree reads operations from bytes: a parent and a name to add, a number of attributes to
// keep, or to take a view.
func FuzzTree(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x01a\x01\x01b\x02\x01a\xfe\xff\x02\x00\x00\x03a/b"))
	f.Add(uint64(2), []byte("\x00\x00\x01\x01*\x01\x02..\xfe\x00\x02\x00\xff\x00\x02\xc3\xa9"))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		p := newTreePair(seed)
		for len(ops) >= 2 && len(p.oracle.nodes) < 200 {
			op, arg := ops[0], int(ops[1])
			ops = ops[2:]
			switch op {
			case 0xfe:
				p.view()
			case 0xff:
				p.truncate(arg % (len(p.oracle.nodes) + 1))
			default:
				name := string(ops[:min(arg, len(ops))])
				ops = ops[len(name):]
				if strings.ToValidUTF8(name, "") != name {
					p.refuse(t, p.parent(int(op)), name, ErrLimit)
					continue
				}
				p.add(t, p.parent(int(op)), name)
			}
		}
		p.check(t)
	})
}

// Removed attributes are gone, their places go to others, and a reader of older attributes
// sees neither. The names are chosen so that the old and the new attribute have the same
// number, the same parent or the same name, with a view before, between, after.
func TestTruncatedAttributesComeBackAsOthers(t *testing.T) {
	p := newTreePair(1)
	p.add(t, Top, "kept")
	p.view()
	for i, name := range []string{"one", "two", "one", "three", "kept"} {
		p.truncate(1)
		p.add(t, Attribute(0), name) // always attribute 1
		p.add(t, Attribute(1), "below")
		p.check(t)
		now := p.tree.Names()
		for k, other := range []string{"one", "two", "three", "kept"} {
			a, err := now.Lookup("kept", other)
			if other == name && (err != nil || a != 1) {
				t.Errorf("round %d: %q is attribute %d, %v; want 1", i, other, a, err)
			}
			if other != name && !errors.Is(err, ErrAttribute) {
				t.Errorf("round %d: %q, name %d, is attribute %d, %v; it was taken back", i, other, k, a, err)
			}
			if a, err := p.views[0].names.Lookup("kept", other); !errors.Is(err, ErrAttribute) {
				t.Errorf("round %d: an old view sees attribute %d, %v", i, a, err)
			}
		}
	}
	// The parent differs too: attribute 1 is a child of Top now.
	p.truncate(1)
	p.add(t, Top, "one")
	p.check(t)
	p.truncate(0)
	p.add(t, Top, "new")
	p.check(t)
}

// After a removal the cells equal those without the removed attributes, also if they grew in
// between (N2). Parents of few and of many children, known before and removed themselves, lose
// the right ones.
func TestTruncateAcrossGrowth(t *testing.T) {
	p := newTreePair(7)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		p.truncate(rng.IntN(len(p.oracle.nodes) + 1))
		p.view()
		for i := range rng.IntN(400) {
			p.add(t, p.parent(rng.IntN(1<<rng.IntN(10))), strconv.Itoa(i%37))
		}
		checkTree(t, p.tree)
	}
	p.check(t)
	p.truncate(0)
	p.check(t)
	p.tree.Truncate(5) // beyond the end: no effect
	if n := p.tree.Names().Len(); n != 0 {
		t.Errorf("%d attributes after truncate(5) of none", n)
	}
}

// Identity is exact: siblings whose names have the same hash share a search, not a node.
func TestTreeTellsCollisionsApart(t *testing.T) {
	tr := New(3, maxAttributes)
	byHash := map[uint32]string{}
	pairs := 0
	for i := 0; i < 500_000 && pairs < 4; i++ {
		name := fmt.Sprint("name ", i)
		hash := tr.texts.hash(name)
		other, collides := byHash[hash]
		byHash[hash] = name
		if !collides {
			continue
		}
		pairs++
		parent := mustAdd(t, tr, Top, fmt.Sprint("parent ", i))
		first := mustAdd(t, tr, parent, other)
		if a, err := tr.Names().LookupFrom(parent, name); err == nil {
			t.Errorf("%q is attribute %d, which is %q", name, a, other)
		}
		second := mustAdd(t, tr, parent, name)
		for want, name := range map[Attribute]string{first: other, second: name} {
			if a, err := tr.Names().LookupFrom(parent, name); err != nil || a != want {
				t.Errorf("%q is attribute %d, %v; want %d", name, a, err, want)
			}
		}
	}
	if pairs == 0 {
		t.Fatal("no two names have the same hash: nothing was tested")
	}
	checkTree(t, tr)
}

func TestTreeLimits(t *testing.T) {
	p := newTreePair(1)
	p.add(t, Top, strings.Repeat("x", maxName))
	p.tree.limit = 3
	p.add(t, Top, "second")
	p.add(t, 0, "third")
	p.refuse(t, Top, "fourth", ErrLimit)
	p.refuse(t, 3, "below none", ErrAttribute)
	p.refuse(t, Top-1, "below none", ErrAttribute)
	p.add(t, 0, "third") // an existing attribute is not new
	for _, name := range badNames {
		p.refuse(t, 0, name, ErrLimit)
	}
	p.truncate(2)
	p.add(t, Top, "fourth")
	p.check(t)
}

// A chain is as deep as the number of attributes, so nothing may recurse.
func TestTreeOfGreatDepth(t *testing.T) {
	const depth = 100_000
	tr := New(1, maxAttributes)
	path := make([]string, depth)
	last := Top
	for i := range depth {
		path[i] = strconv.Itoa(i % 10)
		last = mustAdd(t, tr, last, path[i])
	}
	checkTree(t, tr)
	names := tr.Names()
	if a, err := names.Lookup(path...); err != nil || a != last {
		t.Errorf("Lookup() = %d, %v; want %d", a, err, last)
	}
	if got, err := names.Path(last); err != nil || !slices.Equal(got, path) {
		t.Errorf("Path() has %d names, %v; want %d", len(got), err, depth)
	}
	if got := slices.Collect(names.Descendants(Top)); len(got) != depth || got[depth-1] != last {
		t.Errorf("%d descendants, want %d", len(got), depth)
	}
	if got, err := names.DescendantsMatching(Top, nil, true); err != nil || len(got) != depth {
		t.Errorf("%d descendants match, %v; want %d", len(got), err, depth)
	}
	steps := make([]Step, depth)
	for i := range steps {
		steps[i] = Any
	}
	if got, err := names.Match(steps...); err != nil || len(got) != 1 || got[0] != last {
		t.Errorf("Match() = %v, %v; want %d", got, err, last)
	}
	tr.Truncate(depth / 2)
	checkTree(t, tr)
	if got := slices.Collect(tr.Names().Descendants(Top)); len(got) != depth/2 {
		t.Errorf("%d descendants are left, want %d", len(got), depth/2)
	}
}

// Readers of published names run beside a writer that adds, removes, and adds others in their
// place (N3). A name of a committed transaction begins with a digit, of an aborted one with an
// x; no reader may see an x.
func TestTreeReadersBesideWriter(t *testing.T) {
	rounds, readers := effort.Less(120, 6), 4
	tr := New(5, maxAttributes)
	var published atomic.Pointer[treeView]
	oracle := newTreeOracle()
	publish := func() { published.Store(&treeView{tr.Names(), oracle.view()}) }
	publish()
	var done atomic.Bool
	var reading sync.WaitGroup
	for r := range readers {
		reading.Go(func() {
			var held []treeView
			rng := rand.New(rand.NewPCG(uint64(r), 1))
			for stop := false; !stop && !t.Failed(); {
				stop = done.Load()
				held = append(held, *published.Load())
				v := held[rng.IntN(len(held))]
				readOnce(t, rng, v)
				if len(held) > 8 {
					held = slices.Delete(held, 1, 2)
				}
			}
			for _, v := range held {
				compareNames(t, v.names, v.oracle)
			}
		})
	}
	// One more reader keeps names that the writer removed, a misuse. Its answers are
	// meaningless, but it must not break, hang or race.
	var stale atomic.Pointer[Names]
	stale.Store(&Names{})
	reading.Go(func() {
		for !done.Load() {
			askAll(*stale.Load())
		}
	})
	rng := rand.New(rand.NewPCG(9, 9))
	parent := func() Attribute { return Attribute(rng.IntN(1+rng.IntN(int(tr.n)+1))) - 1 }
	for range rounds {
		n := int(tr.n)
		for range rng.IntN(20) {
			mustAdd(t, tr, parent(), "x"+strconv.Itoa(rng.IntN(30)))
		}
		if names := tr.Names(); names.Len() > n {
			stale.Store(&names)
		}
		tr.Truncate(n)
		for range rng.IntN(8) {
			p, name := parent(), strconv.Itoa(rng.IntN(30))
			oracle.add(p, name)
			mustAdd(t, tr, p, name)
		}
		publish()
		runtime.Gosched()
	}
	done.Store(true)
	reading.Wait()
	checkTree(t, tr)
	compareNames(t, tr.Names(), oracle)
}

// readOnce asks a view a few random questions about one of its attributes.
func readOnce(t *testing.T, rng *rand.Rand, v treeView) {
	n := v.names.Len()
	if n != len(v.oracle.nodes) {
		t.Errorf("a view has %d attributes, had %d", n, len(v.oracle.nodes))
	}
	a := Attribute(rng.IntN(n+1)) - 1
	if got := slices.Collect(v.names.Children(a)); !slices.Equal(got, v.oracle.children(a)) {
		t.Errorf("Children(%d) of %d = %v, want %v", a, n, got, v.oracle.children(a))
	}
	for c := range v.names.Descendants(a) {
		if name, err := v.names.Name(c); err != nil || name != v.oracle.nodes[c].name {
			t.Errorf("attribute %d of %d is %q, %v; want %q", c, n, name, err, v.oracle.nodes[c].name)
		}
	}
	for range 5 {
		name := strconv.Itoa(rng.IntN(30))
		want, there := v.oracle.byPath[v.oracle.path(a, name)]
		if got, err := v.names.LookupFrom(a, name); (err == nil) != there || got != want {
			t.Errorf("%q below %d of %d = %d, %v; want %d, %v", name, a, n, got, err, want, there)
		}
		if got, err := v.names.LookupFrom(a, "x"+name); err == nil {
			t.Errorf("attribute %d of %d, which nobody committed, is seen", got, n)
		}
	}
	if got, err := v.names.Match(Any, Any, Up); err != nil || slices.ContainsFunc(got, func(a Attribute) bool { return int(a) >= n }) {
		t.Errorf("Match() = %v, %v of %d", got, err, n)
	}
}

// askAll calls every method for every attribute.
func askAll(n Names) {
	for i := range n.Len() + 1 {
		a := Attribute(i) - 1
		_, _ = n.Name(a)
		_, _ = n.Parent(a)
		path, _ := n.Path(a)
		_, _ = n.Lookup(path...)
		_ = slices.Collect(n.Children(a))
		for range n.Descendants(a) {
			continue
		}
	}
	_, _ = n.Match(Any, Any, Up)
	_, _ = n.DescendantsMatching(Top, regexp.MustCompile("1"), true)
}

// Names kept from an aborted transaction are invalid, but harmless.
func TestStaleNamesDoNoHarm(t *testing.T) {
	tr := New(1, maxAttributes)
	rng := rand.New(rand.NewPCG(3, 4))
	fill := func(n int) {
		for i := range n {
			mustAdd(t, tr, Attribute(rng.IntN(int(tr.n)+1))-1, strconv.Itoa(i))
		}
	}
	fill(1000)
	stale := tr.Names()
	for _, n := range []int{990, 600, 0} {
		tr.Truncate(n)
		askAll(stale)
		fill(300)
		askAll(stale)
	}
}

// Bytes of names are never overwritten, and nothing refers to those of removed names, so a
// reader that still has them does not race.
func TestForgottenNamesAreNotWrittenOver(t *testing.T) {
	tr := New(1, maxAttributes)
	mustAdd(t, tr, Top, "kept")
	mustAdd(t, tr, Top, "forgotten")
	kept, forgotten := tr.text(1), tr.text(2)
	tr.Truncate(1)
	if got := tr.text(2); len(got) != 0 {
		t.Errorf("the name of a forgotten attribute is %q", got)
	}
	for i := range 100 {
		mustAdd(t, tr, Top, fmt.Sprint("another ", i))
	}
	_ = append(kept, "appended"...)
	if got := [4]string{string(kept), string(forgotten), string(tr.text(1)), string(tr.text(2))}; got != [4]string{"kept", "forgotten", "kept", "another 0"} {
		t.Errorf("names %q", got)
	}
}

// An iteration ends even if its writer removes the attributes under it.
func TestStaleIterationEnds(t *testing.T) {
	tr := New(1, maxAttributes)
	a := mustAdd(t, tr, Top, "a")
	b := mustAdd(t, tr, Top, "b")
	mustAdd(t, tr, b, "c")
	steps := 0
	for range tr.Names().Descendants(b) {
		tr.Truncate(1)
		mustAdd(t, tr, a, "b")
		mustAdd(t, tr, a, "c")
		if steps++; steps > 10 {
			t.Fatal("an iteration below one attribute goes on and on")
		}
	}
}

// A failed or removed addition leaves no attribute and no name behind.
func TestTruncateGivesNamesBack(t *testing.T) {
	tr := New(1, maxAttributes)
	kept := mustAdd(t, tr, Top, "kept")
	before, size := 0, 0
	for round := range 50 {
		for i := range 2000 {
			mustAdd(t, tr, kept, fmt.Sprintf("name %d of round %d, which nobody keeps", i, round))
		}
		tr.Truncate(1)
		checkTree(t, tr)
		if round == 0 {
			before, size = heapBytes(), tr.Size()
		}
	}
	if grown := heapBytes() - before; grown > 64<<10 {
		t.Errorf("the heap grew by %d bytes in 49 rounds that left nothing", grown)
	}
	if got := tr.Size(); got > size+1024 {
		t.Errorf("size() = %d, was %d after the first round", got, size)
	}
	runtime.KeepAlive(tr)
}

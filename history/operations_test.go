package history_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/history"
)

// TestOperations runs random operations on small histories and compares with the oracle: the
// error of each, the writer's state after it, and every answer of every view, also of views
// that are held while the history goes on.
func TestOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		for range rapid.IntRange(1, 150).Draw(t, "operations") {
			m.step()
		}
		m.finish()
	})
}

// machine is a history, its writer and the oracle.
type machine struct {
	*rapid.T
	h    *history.History
	w    *history.Draft
	o    *oracle
	rng  *rand.Rand
	held []*checker

	mirror *history.History // repeats the journals

	texts int // values that were asked for
}

func newMachine(t *rapid.T) *machine {
	start := rapid.SampledFrom([]int64{0, -7, math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 30, 1 << 60}).Draw(t, "start")
	most := rapid.SampledFrom([]int{0, 12}).Draw(t, "attributes")
	seed := rapid.Uint64().Draw(t, "seed")
	opts := history.Options{Start: start, MaxAttributes: most, Seed: seed, Journal: rapid.Bool().Draw(t, "journal")}
	h, err := history.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{T: t, h: h, o: newOracle(start), rng: rand.New(rand.NewPCG(seed, 0))}
	if opts.Journal {
		if m.mirror, err = history.New(history.Options{Start: start, MaxAttributes: most, Seed: seed + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if most > 0 {
		m.o.max = most
	}
	m.hold("empty", h.Empty(), m.o.view())
	m.begin()
	for _, path := range paths[:rapid.IntRange(1, 5).Draw(t, "paths")] {
		m.child(history.Top, path)
	}
	m.commit()
	m.begin()
	return m
}

func (m *machine) begin() {
	w, err := m.h.Begin()
	if problem := m.o.begin().match(err); problem != "" {
		m.Fatalf("Begin: %s", problem)
	}
	m.w = w
}

// hold compares a view now, and again at the end.
func (m *machine) hold(name string, v *history.View, o *oracleView) {
	c := newChecker(m, name, v, o)
	c.whole(m.rng)
	m.held = append(m.held, c)
}

func (m *machine) commit() {
	m.Logf("Commit, drop %v", m.o.drop)
	m.w.Prepare()
	journal := m.w.Journal()
	v, err := m.w.Commit()
	if err != nil {
		m.Fatalf("Commit: %v", err)
	}
	o := m.o.commit()
	m.hold(fmt.Sprintf("view %d", len(m.held)), v, o)
	m.replay(journal, o)
	m.w = nil
	image := rapid.IntRange(0, 7).Draw(m.T, "image")
	if image == 3 { // goes on in the image
		m.h = m.open(v, o)
	}
	if m.mirror != nil && image >= 3 && image < 5 { // journals go on behind the image
		m.mirror = m.open(v, o)
	}
}

// open returns the history of an image of a view, whose view answers as the first.
func (m *machine) open(v *history.View, o *oracleView) *history.History {
	h, again, err := history.OpenImage(history.Options{MaxAttributes: m.o.max, Journal: m.mirror != nil}, v.AppendImage(nil))
	if err != nil {
		m.Fatalf("OpenImage: %v", err)
	}
	m.hold(fmt.Sprintf("image %d", len(m.held)), again, o)
	if err := history.CheckLanes(h); err != nil {
		m.Fatalf("image: %v", err)
	}
	return h
}

// replay repeats a commit in the mirror, from its journal. The mirror does not know drops of
// transactions that only drop until the next one.
func (m *machine) replay(journal []byte, o *oracleView) {
	if m.mirror == nil || journal == nil {
		if len(journal) > 0 {
			m.Fatalf("a journal that nobody asked for: %x", journal)
		}
		return
	}
	v, err := m.mirror.Replay(journal)
	if err != nil {
		m.Fatalf("Replay of %x: %v", journal, err)
	}
	m.hold(fmt.Sprintf("mirror %d", len(m.held)), v, o)
	// Its writer refuses what that of the other does.
	w, err := m.mirror.Begin()
	if err != nil {
		if !v.Closed() {
			m.Fatalf("Begin after Replay: %v", err)
		}
		return
	}
	m.writerAgrees(w)
	w.Abort()
}

// finish closes open transactions and the history, at random, and checks all views again.
func (m *machine) finish() {
	if m.w != nil {
		m.commit()
	}
	for _, c := range m.held {
		c.cursor = nil
		c.whole(m.rng)
	}
	for _, c := range slices.Clip(m.held) { // later commits change no image
		m.open(c.view, c.oracle)
	}
}

// paths are few, so that operations collide. "1" and "2" are the places of stack values.
var paths = [][]string{
	{"a"}, {"b"}, {"c"}, {"a", "1"}, {"a", "2"}, {"b", "1"}, {"a", "1", "x"}, {"", "*"}, {"x", "y", "z"}, {"b", "\xff"}, {},
}

// step does one operation on both.
func (m *machine) step() {
	if m.w == nil {
		if rapid.IntRange(0, 9).Draw(m.T, "only drop") == 4 {
			m.onlyDrop()
		}
		m.begin()
		if m.w == nil { // closed
			return
		}
	}
	// The first and the last are drawn more often than those between.
	switch n := rapid.IntRange(0, 19).Draw(m.T, "step"); {
	case n < 7:
		m.change()
	case n < 11:
		m.add()
	case n < 13:
		m.stack()
	case n < 15:
		m.others()
	case n < 17:
		path := rapid.SampledFrom(paths).Draw(m.T, "path")
		base := history.Top
		if rapid.IntRange(0, 3).Draw(m.T, "from root") == 2 {
			base = m.attribute()
		}
		m.child(base, path)
	case n < 18:
		if rapid.IntRange(0, 2).Draw(m.T, "drop") == 1 {
			t := m.time()
			m.w.DropBefore(t)
			m.o.drop = moment{t, true}
		}
		m.commit()
		m.w = nil
	case n < 19:
		m.Logf("Abort")
		if rapid.Bool().Draw(m.T, "prepared") {
			m.w.DropBefore(m.time())
			m.w.Prepare()
		}
		m.w.Abort()
		m.o.abort()
		m.w = nil
	case rapid.IntRange(0, 4).Draw(m.T, "close") == 2:
		t := m.time()
		m.refused(m.w.Close(t), m.o.close(t), "Close(%d)", t)
	}
	m.writerSees()
}

// onlyDrop drops old states in a transaction that writes nothing.
func (m *machine) onlyDrop() {
	w, err := m.h.BeginDrop()
	if err != nil {
		m.Fatalf("BeginDrop: %v", err)
	}
	m.w = w
	m.o.beginDrop()
	if err := w.Change(m.time(), m.attribute(), history.Int(1)); !errors.Is(err, history.ErrDone) {
		m.Fatalf("Change in a transaction that only drops: %v", err)
	}
	t := m.time()
	w.DropBefore(t)
	m.o.drop = moment{t, true}
	if rapid.IntRange(0, 5).Draw(m.T, "abort the drop") == 3 {
		w.Abort()
		m.o.abort()
	} else {
		m.commit()
	}
	m.w = nil
}

func (m *machine) refused(err error, r refusals, what string, args ...any) {
	m.Helper()
	if what != "Ongoing(%d)" {
		m.Logf(what+": %v", append(args, err)...)
	}
	if problem := r.match(err); problem != "" {
		m.Fatalf(what+": %s", append(args, problem)...)
	}
}

func (m *machine) child(base history.Attribute, path []string) {
	a, err := m.w.Child(base, path...)
	want, r := m.o.child(base, path...)
	m.refused(err, r, "Child(%d, %q)", base, path)
	if err == nil && a != want {
		m.Fatalf("Child(%d, %q) = %d, want %d", base, path, a, want)
	}
}

// attribute returns mostly an existing attribute.
func (m *machine) attribute() history.Attribute {
	n := len(m.o.now.attributes)
	if n == 0 || rapid.IntRange(0, 29).Draw(m.T, "unknown") == 17 {
		return rapid.SampledFrom([]history.Attribute{history.Top, history.Attribute(n), history.Attribute(n + 1), 1 << 31}).Draw(m.T, "attribute")
	}
	return history.Attribute(rapid.IntRange(0, n-1).Draw(m.T, "attribute"))
}

// time returns mostly an instant near the latest.
func (m *machine) time() int64 {
	last, _ := m.o.now.last()
	if !last.is {
		last.at = m.o.start
	}
	switch rapid.IntRange(0, 15).Draw(m.T, "when") {
	case 9:
		return rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, m.o.start, m.o.start - 1, math.MaxInt64 - 1, 0}).Draw(m.T, "edge")
	case 10, 11:
		return last.at - rapid.Int64Range(0, 4).Draw(m.T, "earlier")
	}
	return last.at + rapid.SampledFrom([]int64{2, 1, 3, 0, 5}).Draw(m.T, "later")
}

// near returns an instant at the start of an attribute's ongoing interval, or near the latest.
func (m *machine) near(a history.Attribute) int64 {
	if int(a) < len(m.o.now.attributes) && rapid.IntRange(0, 3).Draw(m.T, "near") == 2 {
		return m.o.now.attributes[a].began + rapid.Int64Range(-1, 1).Draw(m.T, "off")
	}
	return m.time()
}

var values = []history.Value{
	{},
	history.Int(0), history.Int(1), history.Int(2), history.Int(math.MinInt64), history.Int(math.MaxInt64), history.Int(-1),
	history.Bool(false), history.Bool(true), history.Float(0), history.Float(math.Copysign(0, -1)), history.Float(math.NaN()), history.Float(1.5),
	history.String(""), history.String("run"), history.String("\x00é"), history.Bytes(nil), history.Bytes([]byte("\xff\x00")),
	history.String("\xff"), history.Bytes(make([]byte, history.MaxValue)), history.Bytes(make([]byte, history.MaxValue+1)),
}

// value returns mostly a value of the attribute's kind. Some texts come once.
func (m *machine) value(a history.Attribute) history.Value {
	if m.texts++; int(a) < len(m.o.now.attributes) && m.o.now.attributes[a].kind == history.KindString && m.texts%3 == 0 {
		return history.String(fmt.Sprint("text ", m.texts))
	}
	v := rapid.SampledFrom(values).Draw(m.T, "value")
	if int(a) < len(m.o.now.attributes) && rapid.IntRange(0, 9).Draw(m.T, "kind") != 5 {
		for kind := m.o.now.attributes[a].kind; kind != history.KindNull && !v.IsNull() && v.Kind() != kind; {
			v = rapid.SampledFrom(values).Draw(m.T, "value")
		}
	}
	return v
}

func (m *machine) change() {
	a := m.attribute()
	t, v := m.near(a), m.value(a)
	m.refused(m.w.Change(t, a, v), m.o.change(t, a, v), "Change(%d, %d, %.20v)", t, a, v)
}

func (m *machine) add() {
	a := m.attribute()
	start, v := m.time(), m.value(a)
	if int(a) < len(m.o.now.attributes) && rapid.IntRange(0, 9).Draw(m.T, "start") != 5 {
		start = m.o.now.attributes[a].began
	}
	end := rapid.SampledFrom([]int64{start, start + 1, m.time(), m.time(), m.time()}).Draw(m.T, "end")
	m.refused(m.w.Add(a, start, end, v), m.o.add(a, start, end, v), "Add(%d, %d, %d, %.20v)", a, start, end, v)
}

func (m *machine) stack() {
	a := m.attribute()
	t, v := m.near(a), m.value(history.Top)
	var got, want history.Value
	var err error
	var r refusals
	what := rapid.SampledFrom([]string{"Push", "Push", "Push", "Pop", "Poll", "Top", "Peek"}).Draw(m.T, "stack")
	switch what {
	case "Push":
		err, r = m.w.Push(t, a, v), m.o.push(t, a, v)
	case "Pop":
		got, err = m.w.Pop(t, a)
		want, r = m.o.pop(t, a)
	case "Poll":
		got, err = m.w.Poll(t, a)
		want, r = m.o.poll(t, a)
	case "Top":
		got, err = m.w.Top(a)
		want, r = m.o.top(a, false)
	case "Peek":
		got, err = m.w.Peek(a)
		want, r = m.o.top(a, true)
	}
	m.refused(err, r, "%s(%d, %d, %.20v)", what, t, a, v)
	if !got.Equal(want) {
		m.Fatalf("%s(%d, %d) = %v, want %v", what, t, a, got, want)
	}
}

func (m *machine) others() {
	a := m.attribute()
	t, v := m.near(a), m.value(a)
	switch what := rapid.SampledFrom([]string{"Update", "Remove", "IncrementInt", "IncrementFloat"}).Draw(m.T, "other"); what {
	case "Update":
		m.refused(m.w.Update(a, v), m.o.update(a, v), "Update(%d, %.20v)", a, v)
	case "Remove":
		m.refused(m.w.Remove(t, a), m.o.remove(t, a), "Remove(%d, %d)", t, a)
	case "IncrementInt":
		by := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}).Draw(m.T, "by")
		m.refused(m.w.IncrementInt(t, a, by), m.o.incrementInt(t, a, by), "IncrementInt(%d, %d, %d)", t, a, by)
	case "IncrementFloat":
		by := rapid.SampledFrom([]float64{0, 1, -0.5, math.Inf(1)}).Draw(m.T, "by")
		m.refused(m.w.IncrementFloat(t, a, by), m.o.incrementFloat(t, a, by), "IncrementFloat(%d, %d, %v)", t, a, by)
	}
}

// writerSees compares the uncommitted state of a transaction.
func (m *machine) writerSees() {
	if m.w != nil {
		m.writerAgrees(m.w)
	}
}

func (m *machine) writerAgrees(w *history.Draft) {
	if w.Len() != len(m.o.now.attributes) {
		m.Fatalf("the writer has %d attributes, want %d", w.Len(), len(m.o.now.attributes))
	}
	for i := range m.o.now.attributes {
		a := history.Attribute(i)
		got, err := w.Ongoing(a)
		want, r := m.o.ongoing(a)
		m.refused(err, r, "Ongoing(%d)", a)
		if err == nil && (got.Start != want.Start || got.End != want.End || !got.Open || !got.Value.Equal(want.Value)) {
			m.Fatalf("Ongoing(%d) = %+v, want %+v", a, got, want)
		}
		name, err := w.Name(a)
		if p := m.o.now.attributes[i].place; err != nil || name != p.name {
			m.Fatalf("Name(%d) = %q, %v, want %q", a, name, err, p.name)
		}
	}
}

// TestEndedWriter: an ended writer refuses all operations.
func TestEndedWriter(t *testing.T) {
	for _, end := range []string{"Commit", "Abort", "Prepare and Abort"} {
		h, w := begun(t)
		if _, err := h.Begin(); !errors.Is(err, history.ErrBusy) {
			t.Errorf("a second writer: %v", err)
		}
		a, err := w.Attribute("a")
		if err != nil {
			t.Fatal(err)
		}
		if end == "Commit" {
			if _, err := w.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if end == "Prepare and Abort" {
			w.Prepare()
			if err := w.Change(1, a, history.Int(1)); !errors.Is(err, history.ErrDone) {
				t.Errorf("Change after Prepare: %v, want ErrDone", err)
			}
		}
		w.Abort()
		w.Prepare() // has no effect
		got := map[string]error{}
		_, got["Attribute"] = w.Attribute("b")
		_, got["Child"] = w.Child(a, "b")
		_, got["Ongoing"] = w.Ongoing(a)
		_, got["Pop"] = w.Pop(1, a)
		_, got["Poll"] = w.Poll(1, a)
		_, got["Peek"] = w.Peek(a)
		_, got["Top"] = w.Top(a)
		_, got["Commit"] = w.Commit()
		_, got["Publish"] = w.Publish()
		got["Change"] = w.Change(1, a, history.Int(1))
		got["Add"] = w.Add(a, 0, 1, history.Int(1))
		_, got["AddAll"] = w.AddAll([]history.Attribute{a}, []int64{0}, []int64{1}, []history.Value{history.Int(1)})
		got["Update"] = w.Update(a, history.Int(1))
		got["Remove"] = w.Remove(1, a)
		got["Push"] = w.Push(1, a, history.Int(1))
		got["IncrementInt"] = w.IncrementInt(1, a, 1)
		got["IncrementFloat"] = w.IncrementFloat(1, a, 1)
		got["Close"] = w.Close(1)
		for name, err := range got {
			if !errors.Is(err, history.ErrDone) {
				t.Errorf("%s after %s: %v, want ErrDone", name, end, err)
			}
		}
		w.Seal() // has no effect
		next, err := h.Begin()
		if err != nil {
			t.Fatalf("Begin after %s: %v", end, err)
		}
		want := map[string]int{"Commit": 1}[end]
		if diff := cmp.Diff(want, next.Len()); diff != "" {
			t.Errorf("attributes after %s: -want +got\n%s", end, diff)
		}
		next.Abort()
	}
}

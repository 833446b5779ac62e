package history_test

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/granarydb/granary/history"
)

// TestFeatures compares the features of the state system of Eclipse Trace Compass with this
// package: the same result, or an error where that system changes or loses data silently.
// Omitted features have a page in docs/decisions.
func TestFeatures(t *testing.T) {
	for _, f := range []struct {
		name string
		show func(f *feature)
	}{
		{"paths are created, parents first", showCreation},
		{"any text is a name", showNames},
		{"look-up does not create", showLookup},
		{"children, descendants, regular expressions", showChildren},
		{"patterns", showPatterns},
		{"name, path, parent, count", showPaths},
		{"a change ends the interval before it", showChange},
		{"null until the first change", showFirstChange},
		{"the ongoing value is replaced", showUpdate},
		{"stack", showStack},
		{"queue", showQueue},
		{"increments", showIncrements},
		{"a subtree is removed", showRemove},
		{"ongoing values and where they began", showOngoing},
		{"closing", showClose},
		{"an empty history is closed", showEmpty},
		{"what is aborted leaves nothing", showAbort},
		{"state at an instant", showAt},
		{"all states at an instant", showSlice},
		{"attributes by times", showSample},
		{"the history of one attribute", showRange},
		{"forwards and backwards from interval to interval", showNeighbours},
		{"closed intervals are given directly", showAdd},
		{"times of any sign, to the edges", showEdges},
		{"values of every kind", showValues},
	} {
		t.Run(f.name, func(t *testing.T) {
			h, w := begun(t)
			f.show(&feature{T: t, h: h, Draft: w})
		})
	}
}

// feature is a history in progress. An error of the test ends it.
type feature struct {
	*testing.T
	*history.Draft
	h *history.History
}

// must fails on any error.
func (f *feature) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is compares an error with the expected one.
func (f *feature) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%v, want %v", err, want)
	}
}

func (f *feature) attribute(path ...string) history.Attribute {
	f.Helper()
	a, err := f.Attribute(path...)
	f.must(err)
	return a
}

// commit commits and begins again.
func (f *feature) commit() *history.View {
	f.Helper()
	v, err := f.Commit()
	f.must(err)
	if !v.Closed() {
		f.Draft, err = f.h.Begin()
		f.must(err)
	}
	return v
}

// all returns a view's intervals of an attribute: from, to, value. An open interval ends at
// -1.
func (f *feature) all(v *history.View, a history.Attribute) (list []string) {
	f.Helper()
	for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
		f.must(err)
		list = append(list, show(in))
	}
	return list
}

func show(in history.Interval) string {
	end := "ongoing"
	if !in.Open {
		end = history.Int(in.End).String()
	}
	return history.Int(in.Start).String() + ".." + end + " " + in.Value.String()
}

func (f *feature) want(got, want any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(history.Value{})); diff != "" {
		f.Errorf("-want +got\n%s", diff)
	}
}

func showCreation(f *feature) {
	status := f.attribute("Threads", "17", "Status")
	f.want(f.Len(), 3)
	f.want(status, history.Attribute(2))
	f.want(f.attribute("Threads", "17", "Status"), status) // exists already
	thread, err := f.Lookup("Threads", "17")
	f.must(err)
	child, err := f.Child(thread, "Status")
	f.must(err)
	f.want(child, status)
	_, err = f.Attribute()
	f.is(err, history.ErrAttribute)
	_, err = f.Child(99, "a")
	f.is(err, history.ErrAttribute)
	f.want(f.Len(), 3)
}

func showNames(f *feature) {
	names := []string{"", "*", "..", "/", `\`, "\x00", "\n", "é"}
	for i, name := range names {
		f.want(f.attribute(name), history.Attribute(i))
	}
	v := f.commit()
	for i, want := range names { // Trace Compass loses or renames "*"
		name, err := v.Name(history.Attribute(i))
		f.must(err)
		f.want(name, want)
	}
	_, err := f.Attribute("\xff")
	f.is(err, history.ErrLimit)
}

func showLookup(f *feature) {
	a := f.attribute("a", "b")
	got, err := f.Lookup("a", "b")
	f.must(err)
	f.want(got, a)
	_, err = f.Lookup("a", "c")
	f.is(err, history.ErrAttribute)
	root, err := f.Lookup()
	f.must(err)
	f.want(root, history.Top)
	f.want(f.Len(), 2)
	v := f.commit()
	f.attribute("later")
	_, err = v.Lookup("later") // not committed
	f.is(err, history.ErrAttribute)
}

func showChildren(f *feature) {
	for _, path := range [][]string{{"b", "x1"}, {"b", "x2"}, {"b", "y\n1"}, {"a"}, {"b", "x1", "x3"}} {
		f.attribute(path...)
	}
	b, err := f.Lookup("b")
	f.must(err)
	f.want(slices.Collect(f.Children(b)), []history.Attribute{1, 2, 3})
	f.want(slices.Collect(f.Descendants(b)), []history.Attribute{1, 5, 2, 3})
	f.want(slices.Collect(f.Children(99)), []history.Attribute(nil))
	matching := func(re string, recursive bool) []history.Attribute {
		found, err := f.DescendantsMatching(b, regexp.MustCompile(re), recursive)
		f.must(err)
		return found
	}
	f.want(matching("x.", false), []history.Attribute{1, 2})
	f.want(matching("x.", true), []history.Attribute{1, 5, 2})
	f.want(matching("x", true), []history.Attribute{}) // the whole name
	f.want(matching("y.1", false), []history.Attribute{3})
	_, err = f.DescendantsMatching(99, regexp.MustCompile("x"), true)
	f.is(err, history.ErrAttribute)
}

func showPatterns(f *feature) {
	f.attribute("CPUs", "0", "Status")
	f.attribute("CPUs", "1", "Status")
	match := func(steps ...history.Step) []history.Attribute {
		found, err := f.Match(steps...)
		f.must(err)
		return found
	}
	f.want(match(history.Literal("CPUs"), history.Any, history.Literal("Status")), []history.Attribute{2, 4})
	f.want(match(history.Any, history.Any, history.Up), []history.Attribute{0})
	f.want(match(history.Literal("*")), []history.Attribute{}) // a name like any other
	f.want(match(), []history.Attribute{history.Top})
	f.want(match(history.Up), []history.Attribute{history.Top})
}

func showPaths(f *feature) {
	a := f.attribute("a/b", "c")
	path, err := f.Path(a)
	f.must(err)
	f.want(path, []string{"a/b", "c"})
	parent, err := f.Parent(0)
	f.must(err)
	f.want(parent, history.Top)
	parent, err = f.Parent(history.Top)
	f.must(err)
	f.want(parent, history.Top)
	for _, err := range []error{
		second(f.Path(2)), second(f.Draft.Name(2)), second(f.Parent(2)),
	} {
		f.is(err, history.ErrAttribute)
	}
	f.want(f.Len(), 2)
}

func second[T any](_ T, err error) error { return err }

func showChange(f *feature) {
	a := f.attribute("a")
	f.must(f.Change(10, a, history.Int(1)))
	f.must(f.Change(15, a, history.Int(1))) // goes on
	f.must(f.Change(20, a, history.Int(2)))
	f.must(f.Change(20, a, history.Int(3)))                // replaced
	f.is(f.Change(19, a, history.Int(4)), history.ErrTime) // there: silently replaced, at 20
	f.is(f.Change(30, a, history.String("x")), history.ErrKind)
	f.must(f.Change(30, a, history.Value{})) // null fits
	f.is(f.Change(30, 99, history.Int(1)), history.ErrAttribute)
	v := f.commit()
	f.want(f.all(v, a), []string{"0..9 null", "10..19 1", "20..29 3", "30..ongoing null"})
	f.is(f.Change(30, a, history.Int(1)), history.ErrTime) // committed is final
	f.is(f.Change(-1, a, history.Int(1)), history.ErrTime)
}

func showFirstChange(f *feature) {
	a := f.attribute("a")
	f.must(f.Change(50, a, history.Int(1)))
	f.commit()
	late := f.attribute("late")
	f.must(f.Change(70, late, history.Int(1)))
	v := f.commit()
	f.want(f.all(v, late), []string{"0..69 null", "70..ongoing 1"})
}

func showUpdate(f *feature) {
	a := f.attribute("a")
	f.must(f.Change(5, a, history.Int(1)))
	f.must(f.Update(a, history.Int(2)))
	f.is(f.Update(a, history.String("x")), history.ErrKind) // there: not checked
	f.want(f.all(f.commit(), a), []string{"0..4 null", "5..ongoing 2"})
	f.is(f.Update(a, history.Int(3)), history.ErrTime) // a view has returned 2
	f.must(f.Close(9))
	f.is(f.Update(a, history.Int(3)), history.ErrClosed)
}

func showStack(f *feature) {
	s := f.attribute("stack")
	f.must(f.Push(1, s, history.String("main")))
	below := f.attribute("stack", "1", "arguments")
	f.must(f.Change(1, below, history.Int(2)))
	f.must(f.Push(2, s, history.String("f")))
	top, err := f.Top(s)
	f.must(err)
	f.want(top, history.String("f"))
	f.is(f.Push(3, s, history.Bytes(nil)), nil)
	f.is(f.Push(2, s, history.Int(1)), history.ErrTime)
	got, err := f.Pop(4, s)
	f.must(err)
	f.want(got, history.Bytes(nil))
	// There, the depth has already changed when the kind is refused.
	f.is(f.Push(5, s, history.Int(1)), history.ErrKind)
	got, err = f.Pop(6, s)
	f.must(err)
	f.want(got, history.String("f"))
	got, err = f.Pop(7, s)
	f.must(err)
	f.want(got, history.String("main"))
	got, err = f.Pop(8, s) // empty
	f.must(err)
	f.want(got, history.Value{})
	n := f.attribute("text")
	f.must(f.Change(8, n, history.String("deep")))
	f.is(f.Push(9, n, history.Int(1)), history.ErrKind)
	odd := f.attribute("odd")
	f.must(f.Change(8, odd, history.Int(7)))
	f.is(second(f.Pop(9, odd)), history.ErrDepth)
	f.must(f.Change(9, odd, history.Int(100_000)))
	f.is(f.Push(10, odd, history.Int(1)), history.ErrDepth)
	v := f.commit()
	f.want(f.all(v, s), []string{"0..0 null", "1..1 1", "2..2 2", "3..3 3", "4..5 2", "6..6 1", "7..ongoing null"})
	f.want(f.all(v, below), []string{"0..0 null", "1..6 2", "7..ongoing null"})
	in, ok, err := v.Top(s, 5)
	f.must(err)
	f.want(ok, true)
	f.want(show(in), `2..5 "f"`)
	_, ok, err = v.Top(s, 9)
	f.must(err)
	f.want(ok, false)
}

func showQueue(f *feature) {
	q := f.attribute("queue")
	for i := range int64(3) {
		f.must(f.Push(i, q, history.Int(10+i)))
	}
	for i := range int64(3) {
		first, err := f.Peek(q)
		f.must(err)
		f.want(first, history.Int(10+i))
		got, err := f.Poll(5+i, q)
		f.must(err)
		f.want(got, history.Int(10+i))
	}
	for _, read := range []func() (history.Value, error){
		func() (history.Value, error) { return f.Peek(q) },
		func() (history.Value, error) { return f.Poll(9, q) },
	} {
		got, err := read() // empty
		f.must(err)
		f.want(got, history.Value{})
	}
	v := f.commit()
	first, err := v.Lookup("queue", "1")
	f.must(err)
	f.want(f.all(v, first), []string{"0..4 10", "5..5 11", "6..6 12", "7..ongoing null"})
}

func showIncrements(f *feature) {
	i, x := f.attribute("i"), f.attribute("x")
	f.must(f.IncrementInt(1, i, 5))
	f.must(f.IncrementInt(2, i, -7))
	f.must(f.IncrementFloat(1, x, 0.5))
	f.must(f.IncrementFloat(2, x, 1))
	f.is(f.IncrementFloat(3, i, 1), history.ErrKind)
	f.is(f.IncrementInt(3, x, 1), history.ErrKind)
	f.is(f.IncrementInt(3, i, math.MinInt64), history.ErrLimit) // there: wraps around
	v := f.commit()
	f.want(f.all(v, i), []string{"0..0 null", "1..1 5", "2..ongoing -2"})
	f.want(f.all(v, x), []string{"0..0 null", "1..1 0.5", "2..ongoing 1.5"})
}

func showRemove(f *feature) {
	a, b, c := f.attribute("a"), f.attribute("a", "b"), f.attribute("c")
	for _, x := range []history.Attribute{a, b, c} {
		f.must(f.Change(1, x, history.Int(1)))
	}
	f.must(f.Remove(5, a))
	f.want(f.Len(), 3) // they stay
	f.must(f.Change(9, b, history.Int(2)))
	f.is(f.Remove(8, a), history.ErrTime) // b is at 9: a is unchanged too
	v := f.commit()
	f.want(f.all(v, a), []string{"0..0 null", "1..4 1", "5..ongoing null"})
	f.want(f.all(v, b), []string{"0..0 null", "1..4 1", "5..8 null", "9..ongoing 2"})
	f.want(f.all(v, c), []string{"0..0 null", "1..ongoing 1"})
}

func showOngoing(f *feature) {
	a := f.attribute("a")
	in, err := f.Ongoing(a)
	f.must(err)
	f.want(show(in), "0..ongoing null")
	f.must(f.Change(5, a, history.Int(1)))
	in, err = f.Ongoing(a)
	f.must(err)
	f.want(show(in), "5..ongoing 1")
	f.is(second(f.Ongoing(99)), history.ErrAttribute)
	f.must(f.Close(9))
	f.is(second(f.Ongoing(a)), history.ErrClosed)
}

func showClose(f *feature) {
	a, b := f.attribute("a"), f.attribute("b")
	f.must(f.Change(5, a, history.Int(1)))
	f.must(f.Change(8, b, history.Int(1)))
	f.is(f.Close(7), history.ErrTime) // there: later states are dropped
	f.must(f.Close(9))
	f.is(f.Close(9), history.ErrClosed) // there: a null pointer
	f.is(f.Change(10, a, history.Int(2)), history.ErrClosed)
	f.is(second(f.Attribute("c")), history.ErrClosed)
	before := f.h
	v := f.commit()
	f.want(v.Closed(), true)
	f.want(v.End(), int64(9))
	f.want(f.all(v, a), []string{"0..4 null", "5..9 1"})
	_, err := before.Begin()
	f.is(err, history.ErrClosed)
}

func showEmpty(f *feature) {
	_, err := f.h.Empty().At(0, 0)
	f.is(err, history.ErrTime)
	f.want(f.h.Empty().End(), int64(-1))
	a := f.attribute("a")
	v := f.commit()
	f.want(v.Instants(), false) // there are attributes, but no time
	f.must(f.Close(0))
	v = f.commit()
	f.want(f.all(v, a), []string{"0..0 null"})
}

func showAbort(f *feature) {
	a, b := f.attribute("a"), f.attribute("b")
	f.must(f.Add(a, 0, 4, history.Value{})) // null has no kind
	f.commit()
	f.must(f.Add(a, 5, 9, history.Int(1)))
	f.must(f.Change(9, b, history.Int(1)))
	f.attribute("c")
	f.must(f.Close(9))
	f.Abort()
	var err error
	f.Draft, err = f.h.Begin()
	f.must(err)
	f.want(f.Len(), 2)
	f.must(f.Add(a, 5, 7, history.String("of another kind")))
	f.must(f.Add(b, 0, 7, history.Float(1))) // fed by Add, the other way
	v := f.commit()
	f.want(f.all(v, a), []string{"0..4 null", `5..7 "of another kind"`})
	f.want(f.all(v, b), []string{"0..7 1"})
}

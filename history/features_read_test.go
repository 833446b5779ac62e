package history_test

import (
	"math"

	"github.com/granarydb/granary/history"
)

// The reads of TestFeatures, and the features common to reads and writes. "there" is Trace
// Compass.

func showAt(f *feature) {
	a := f.attribute("a")
	f.must(f.Change(5, a, history.Int(1)))
	f.must(f.Change(8, a, history.Int(2)))
	v := f.commit()
	in, err := v.At(a, 5)
	f.must(err)
	f.want(show(in), "5..7 1")
	f.is(second(v.At(a, 9)), history.ErrTime) // there: clipped while it is built
	f.is(second(v.At(a, -1)), history.ErrTime)
	f.is(second(v.At(99, 5)), history.ErrAttribute)
	f.must(f.Change(20, a, history.Int(3)))
	again, err := v.At(a, 8)
	f.must(err)
	f.want(show(again), "8..ongoing 2")
	f.want(again.End, int64(8)) // of the view
	again, err = f.commit().At(a, 8)
	f.must(err)
	f.want(show(again), "8..19 2")
}

func showSlice(f *feature) {
	a, b := f.attribute("a"), f.attribute("b")
	f.must(f.Change(5, a, history.Int(1)))
	f.must(f.Change(6, b, history.Int(2)))
	v := f.commit()
	s, err := v.Slice(5)
	f.must(err)
	var got []string
	for x, in := range s.All() {
		name, err := v.Name(x)
		f.must(err)
		got = append(got, name+" "+show(in))
	}
	f.want(got, []string{"a 5..ongoing 1", "b 0..5 null"})
	for range s.All() {
		break
	}
	s, err = v.Slice(6, b)
	f.must(err)
	f.want(s.Len(), 1)
	f.is(second(s.Of(a)), history.ErrAttribute)
	f.is(second(v.Slice(7)), history.ErrTime)
	f.is(second(v.Slice(6, 99)), history.ErrAttribute)
}

func showSample(f *feature) {
	a, b := f.attribute("a"), f.attribute("b")
	for t := range int64(10) {
		f.must(f.Change(10*t, a, history.Int(t)))
	}
	f.must(f.Change(95, b, history.Int(1)))
	v := f.commit()
	show := func(r *history.Intervals, err error) (list []string) {
		f.must(err)
		for i := range r.Len() {
			x, in := r.At(i)
			list = append(list, history.Int(int64(x)).String()+": "+show(in))
		}
		return list
	}
	f.want(show(v.Sample([]history.Attribute{b, a}, []int64{94, 15, 15, 17})), []string{"1: 0..94 null", "0: 10..19 1", "0: 90..ongoing 9"})
	f.want(show(v.Sample([]history.Attribute{}, []int64{15})), []string(nil))
	f.want(show(v.Sample([]history.Attribute{a}, nil)), []string(nil))
	f.is(second(v.Sample([]history.Attribute{a}, []int64{15, 96})), history.ErrTime) // there: fewer rows
	f.is(second(v.Sample([]history.Attribute{a}, []int64{-1})), history.ErrTime)
	f.is(second(v.Sample([]history.Attribute{99}, []int64{15})), history.ErrAttribute)
	f.want(show(v.Pixels([]history.Attribute{a}, 0, 29, 3)), []string{"0: 0..9 0", "0: 10..19 1", "0: 20..29 2"})
	f.is(second(v.Pixels([]history.Attribute{a}, 9, 0, 3)), history.ErrQuery)
	f.is(second(v.Pixels([]history.Attribute{a}, 0, 9, 0)), history.ErrQuery)
	f.is(second(v.Pixels([]history.Attribute{a}, 0, 9, math.MaxInt)), history.ErrQuery)
}

func showRange(f *feature) {
	a := f.attribute("a")
	for t := range int64(10) {
		f.must(f.Change(10*t, a, history.Int(t)))
	}
	v := f.commit()
	list := func(from, to int64, opts history.RangeOptions) (list []int64) {
		for in, err := range v.Range(a, from, to, opts) {
			f.must(err)
			list = append(list, in.Value.Int())
		}
		return list
	}
	f.want(list(15, 31, history.RangeOptions{}), []int64{1, 2, 3})
	f.want(list(15, 31, history.RangeOptions{Reverse: true}), []int64{3, 2, 1})
	f.want(list(5, 88, history.RangeOptions{Resolution: 30}), []int64{0, 3, 6, 8}) // 5, 35, 65, and 88
	f.want(list(5, 88, history.RangeOptions{Resolution: 30, Reverse: true}), []int64{8, 6, 3, 0})
	for _, reverse := range []bool{false, true} { // the consumer may stop early
		for range v.Range(a, 0, 90, history.RangeOptions{Reverse: reverse}) {
			break
		}
	}
	for _, q := range []struct {
		a                    history.Attribute
		from, to, resolution int64
		want                 error
	}{
		{a, -1, 5, 0, history.ErrTime},
		{a, 0, 91, 0, history.ErrTime}, // there: cut
		{a, 5, 4, 0, history.ErrQuery},
		{a, 0, 5, -1, history.ErrQuery},
		{99, 0, 5, 0, history.ErrAttribute},
	} {
		for _, err := range v.Range(q.a, q.from, q.to, history.RangeOptions{Resolution: q.resolution}) {
			f.is(err, q.want)
		}
	}
}

func showNeighbours(f *feature) {
	a := f.attribute("a")
	f.must(f.Change(5, a, history.Int(1)))
	f.must(f.Change(8, a, history.Value{}))
	f.must(f.Change(9, a, history.Int(2)))
	v := f.commit()
	step := func(in history.Interval, ok bool, err error) string {
		f.must(err)
		if !ok {
			return "none"
		}
		return show(in)
	}
	f.want(step(v.Next(a, 6)), "8..8 null")
	f.want(step(v.Next(a, 9)), "none")
	f.want(step(v.Previous(a, 6)), "0..4 null")
	f.want(step(v.Previous(a, 4)), "none")
	f.want(step(v.NextNonNull(a, 0)), "5..7 1")
	f.want(step(v.NextNonNull(a, 8)), "9..ongoing 2")
	_, _, err := v.NextNonNull(a, 10) // there: null instead of an error
	f.is(err, history.ErrTime)
}

func showAdd(f *feature) {
	a, b := f.attribute("a"), f.attribute("b")
	f.must(f.Add(a, 0, 4, history.Int(1)))
	f.is(f.Add(a, 6, 8, history.Int(2)), history.ErrTime) // a gap; there: taken
	f.is(f.Add(a, 4, 8, history.Int(2)), history.ErrTime) // a gap; there: accepted
	f.is(f.Add(a, 5, 4, history.Int(2)), history.ErrTime)
	f.is(f.Change(9, a, history.Int(1)), history.ErrFeed)
	f.must(f.Change(7, b, history.Int(1)))
	f.is(f.Add(b, 8, 9, history.Int(1)), history.ErrFeed)
	v := f.commit()
	f.want(f.all(v, a), []string{"0..4 1", "5..ongoing null"}) // not known yet
	f.must(f.Add(a, 5, 20, history.Int(2)))
	f.want(f.all(v, a), []string{"0..4 1", "5..ongoing null"})
	f.want(f.all(f.commit(), a), []string{"0..4 1", "5..20 2"})
}

func showEdges(f *feature) {
	f.Abort()
	h, err := history.New(history.Options{Start: math.MinInt64})
	f.must(err)
	f.h = h
	f.Draft, err = h.Begin()
	f.must(err)
	a := f.attribute("a")
	f.must(f.Change(math.MinInt64, a, history.Int(1)))
	f.must(f.Change(-1, a, history.Int(2)))
	f.must(f.Change(math.MaxInt64, a, history.Int(3)))
	v := f.commit()
	f.want(f.all(v, a), []string{"-9223372036854775808..-2 1", "-1..9223372036854775806 2", "9223372036854775807..ongoing 3"})
	f.is(f.Change(math.MaxInt64, a, history.Int(4)), history.ErrTime)
	f.must(f.Close(math.MaxInt64))
	f.want(f.all(f.commit(), a)[2], "9223372036854775807..9223372036854775807 3")
}

func showValues(f *feature) {
	nan := math.Float64frombits(0x7ff8_0000_dead_beef)
	list := []history.Value{
		history.Bool(false), history.Bool(true), history.Int(math.MinInt64), history.Float(nan), history.Float(math.Copysign(0, -1)),
		history.String(""), history.String("é\x00"), history.Bytes(make([]byte, history.MaxValue)), history.Bytes([]byte{0xff}),
	}
	for i, v := range list {
		f.must(f.Change(3, f.attribute(string(rune('a'+i))), v))
	}
	v := f.commit()
	for i, want := range list {
		in, err := v.At(history.Attribute(i), 3)
		f.must(err)
		if !in.Value.Equal(want) {
			f.Errorf("attribute %d is %.20v, want %.20v", i, in.Value, want)
		}
	}
	long := f.attribute("long")
	f.is(f.Change(9, long, history.Bytes(make([]byte, history.MaxValue+1))), history.ErrLimit) // there: fails when it is closed
	f.is(f.Change(9, long, history.String("\xff")), history.ErrLimit)
}

package file

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/crashfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const provider = "test 1"

func options(fs *crashfs.FS) Options {
	return Options{Provider: provider, FS: fs, Cache: 1, History: history.Options{Start: -50}}
}

// pair is a history in memory, and one in a file that is written alike.
type pair struct {
	memory *history.History
	file   *Writer
	rng    *rand.Rand
	at     int64
	synced []*history.View // of memory: what the file has had at each Sync that was tried
	good   int             // of those, up to the last that succeeded
}

// newPair creates the file. Its state is the empty history, which is no view of memory yet.
func newPair(t testing.TB, seed uint64, fs *crashfs.FS) (*pair, error) {
	memory, err := history.New(history.Options{Start: -50})
	must(t, err)
	p := &pair{memory: memory, rng: rand.New(rand.NewPCG(seed, 1)), at: -50, synced: []*history.View{memory.Empty()}, good: 1}
	p.file, err = Create("a", options(fs))
	return p, err
}

// commit writes one transaction to both.
func (p *pair) commit(t testing.TB, changes int, closes bool) {
	t.Helper()
	m, err := p.memory.Begin()
	must(t, err)
	f, err := p.file.History.Begin()
	must(t, err)
	seed, aborts := p.rng.Uint64(), p.rng.IntN(5) == 0 && !closes
	at := p.at
	for _, d := range []*history.Draft{m, f} {
		at = change(t, d, rand.New(rand.NewPCG(seed, 2)), p.at, changes)
		if closes {
			must(t, d.Close(at+3))
		} else if seed%8 == 0 {
			d.DropBefore(at - 200)
		}
	}
	if aborts {
		m.Abort()
		f.Abort()
		return
	}
	p.at = at
	_, err = m.Commit()
	must(t, err)
	_, err = f.Commit()
	must(t, err)
}

// change writes states of all kinds, and returns the time behind them.
func change(t testing.TB, d *history.Draft, rng *rand.Rand, at int64, changes int) int64 {
	t.Helper()
	for range changes {
		at += rng.Int64N(4)
		n := rng.IntN(9)
		a, err := d.Attribute("thread", strconv.Itoa(n))
		must(t, err)
		v := []history.Value{
			history.Int(rng.Int64N(5)), history.String("s" + strconv.Itoa(rng.IntN(40))), history.Float(rng.Float64()),
			history.Bool(at%2 == 0), history.Bytes([]byte{byte(at)}), history.Int(rng.Int64N(6) << 40),
		}[n%6]
		if rng.IntN(5) == 0 {
			v = history.Value{}
		}
		if n == 8 {
			in, err := d.Ongoing(a)
			must(t, err)
			if err := d.Add(a, in.Start, max(at, in.Start), history.Int(at)); !errors.Is(err, history.ErrTime) {
				must(t, err)
			}
		} else {
			must(t, d.Change(at+1, a, v))
		}
	}
	return at + 3
}

// sync syncs the file. An error is not the last word: the state may be there.
func (p *pair) sync() error {
	d, err := p.memory.BeginDrop()
	if err != nil {
		return err
	}
	v, err := d.Commit()
	if err != nil {
		return err
	}
	p.synced = append(p.synced, v)
	if err = p.file.Sync(); err == nil {
		p.good = len(p.synced)
	}
	return err
}

// endless is what differ says of a range without end.
const endless = "too many intervals"

// differ says how two views differ, "" if they do not. An error is one of reading got.
func differ(want, got *history.View) (string, error) {
	if want.Len() != got.Len() || want.Start() != got.Start() || want.End() != got.End() || want.Instants() != got.Instants() || want.Closed() != got.Closed() {
		return fmt.Sprintf("%d attributes from %d to %d, want %d from %d to %d", got.Len(), got.Start(), got.End(), want.Len(), want.Start(), want.End()), nil
	}
	if !want.Instants() {
		return "", nil
	}
	mid := want.Start() + (want.End()-want.Start())/2
	for a := range history.Attribute(want.Len()) {
		name, _ := want.Name(a)
		if is, _ := got.Name(a); is != name {
			return fmt.Sprintf("attribute %d is %q, want %q", a, is, name), nil
		}
		for _, reverse := range []bool{false, true} {
			var all [2][]history.Interval
			for i, v := range []*history.View{want, got} {
				for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{Reverse: reverse}) {
					if err != nil {
						return "", err
					}
					if all[i] = append(all[i], in); len(all[i]) > 1<<16 {
						return endless, nil
					}
				}
			}
			if !slices.Equal(all[0], all[1]) {
				return fmt.Sprintf("attribute %d has %v, want %v", a, all[1], all[0]), nil
			}
		}
		is, err := got.At(a, mid)
		if err != nil {
			return "", err
		}
		if in, _ := want.At(a, mid); is != in {
			return fmt.Sprintf("attribute %d at %d is %v, want %v", a, mid, is, in), nil
		}
	}
	return differAll(want, got, mid)
}

// differAll asks for many attributes at once.
func differAll(want, got *history.View, mid int64) (string, error) {
	w, err := want.Slice(mid)
	if err != nil {
		return "", err
	}
	c, err := got.Cursor(1)
	if err != nil {
		return "", err
	}
	for _, t := range []int64{want.Start(), mid} {
		g, err := c.MoveTo(t)
		if err != nil {
			return "", err
		}
		for a, in := range g.All() {
			if is, _ := w.Of(a); t == mid && in != is {
				return fmt.Sprintf("attribute %d of a slice at %d is %v, want %v", a, mid, in, is), nil
			}
		}
	}
	times := history.PixelTimes(want.Start(), want.End(), 20)
	ws, err := want.Sample(nil, times)
	if err != nil {
		return "", err
	}
	gs, err := got.Sample(nil, times)
	if err != nil {
		return "", err
	}
	for i := range ws.Len() {
		wa, win := ws.At(i)
		if i >= gs.Len() {
			return "a sample is short", nil
		}
		if ga, gin := gs.At(i); wa != ga || win != gin {
			return fmt.Sprintf("sample %d is %v of %d, want %v of %d", i, gin, ga, win, wa), nil
		}
	}
	rows := 0
	for c, err := range got.RangeColumns(nil, got.Start(), got.End(), 0, 50) {
		if err != nil {
			return "", err
		}
		rows += len(c.Starts)
	}
	for c := range want.RangeColumns(nil, got.Start(), got.End(), 0, 50) {
		rows -= len(c.Starts)
	}
	if rows != 0 {
		return fmt.Sprintf("%d rows too many", rows), nil
	}
	return "", nil
}

// checkOpen opens the file of a file system, which must have one of some states.
func checkOpen(t *testing.T, fs *crashfs.FS, states []*history.View) *Reader {
	t.Helper()
	r, err := Open("a", options(fs))
	must(t, err)
	problem := ""
	for _, want := range slices.Backward(states) {
		var err error
		if problem, err = differ(want, r.View); err != nil {
			t.Fatal(err)
		}
		if problem == "" {
			return r
		}
	}
	t.Fatalf("the file has none of %d states: %s", len(states), problem)
	return nil
}

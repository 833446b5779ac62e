package history

import (
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/fields"
)

// histories returns small histories: with entries, texts and drops; closed; with tiles; empty.
func histories(t testing.TB) (views map[string]*View) {
	views = map[string]*View{}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, changes := range map[string]int{"entries": 20, "closed": 60, "tiles": 900, "names alone": 0} {
		h, err := New(Options{Start: 1000, Journal: true})
		must(err)
		rng := rand.New(rand.NewPCG(1, 1))
		at := int64(1000)
		for round := range 3 {
			w, err := h.Begin()
			must(err)
			for i := range 5 {
				_, err := w.Attribute(string(rune('a'+i)), "x"+strconv.Itoa(round))
				must(err)
			}
			for range changes / 3 {
				at += rng.Int64N(20)
				a := Attribute(rng.IntN(w.Len()))
				v := []Value{Int(rng.Int64N(5)), String("s" + strconv.Itoa(rng.IntN(5))), Float(rng.Float64()), Bool(at%2 == 0), Bytes([]byte{byte(at)})}[a%5]
				switch {
				case rng.IntN(5) == 0:
					v = Value{}
				case name == "tiles":
					v = Int(rng.Int64N(6) << 37) // few wide words: tiles with dictionaries
				}
				if err := w.Change(at+2, a, v); !errors.Is(err, ErrFeed) {
					if !errors.Is(err, ErrKind) {
						must(err)
					}
					continue
				}
				in, err := w.Ongoing(a)
				must(err)
				if err := w.Add(a, in.Start, max(at+2, in.Start), Int(at)); !errors.Is(err, ErrTime) {
					must(err)
				}
			}
			at += 5
			for i := range 2 {
				if a, err := w.Attribute("added" + strconv.Itoa(i)); changes > 0 {
					must(err)
					in, err := w.Ongoing(a)
					must(err)
					must(w.Add(a, in.Start, at, Int(at)))
				}
			}
			at += 2
			if round == 1 && changes > 0 {
				w.DropBefore(at - 30)
			}
			if round == 2 && name == "closed" {
				must(w.Close(at))
			}
			w.Prepare()
			w.Journal()
			views[name], err = w.Commit()
			must(err)
		}
	}
	h, err := New(Options{Start: -5})
	must(err)
	views["empty"] = h.Empty()
	return views
}

func images(t testing.TB) (all []damaged.Image) {
	views := histories(t)
	for _, name := range slices.Sorted(maps.Keys(views)) {
		all = append(all, damaged.Image{
			Name: name, Bytes: views[name].AppendImage(nil), Bad: ErrImage,
			Open: func(image []byte) (any, error) {
				h, _, err := OpenImage(Options{Journal: true}, image)
				return h, err
			},
			Use: func(t *testing.T, opened any) { useHistory(t, opened.(*History)) },
		})
	}
	return all
}

// useHistory reads a history, writes to it, drops, aborts and closes.
func useHistory(t *testing.T, h *History) {
	v := h.view()
	useView(t, v)
	image := v.AppendImage(nil)
	if again, w, err := OpenImage(Options{}, image); err != nil || again.barred != h.barred || w.End() != v.End() {
		t.Fatalf("the image of an image: %v", err)
	}
	for round := range 4 {
		w, err := h.Begin()
		if errors.Is(err, ErrClosed) {
			if w, err = h.BeginDrop(); err == nil {
				w.DropBefore(v.End())
				v, err = w.Commit()
			}
			if err != nil {
				t.Fatal(err)
			}
			useView(t, v)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for a := range Attribute(w.Len()) {
			if in, err := w.Ongoing(a); err != nil {
				t.Fatal(err)
			} else if err = w.Change(h.barred+1+int64(a%2), a, Int(1)); errors.Is(err, ErrKind) {
				_ = w.Change(h.barred+2, a, String("new"))
			} else if errors.Is(err, ErrFeed) {
				_ = w.Add(a, in.Start, h.barred+3, in.Value)
			}
		}
		if _, err := w.Attribute("a", "new"+strconv.Itoa(round)); err != nil {
			t.Fatal(err)
		}
		switch round {
		case 0:
			w.Abort()
			useView(t, v)
			continue
		case 2:
			w.DropBefore(h.barred)
		case 3:
			if err := w.Close(w.last); w.written && err != nil {
				t.Fatal(err)
			}
		}
		w.Prepare()
		w.Journal()
		if v, err = w.Commit(); err != nil {
			t.Fatal(err)
		}
		useView(t, v)
	}
}

// TestImage_EveryByte changes every byte of small images.
func TestImage_EveryByte(t *testing.T) {
	effort.Slow(t)
	effort.Alone(t)
	for _, i := range images(t) {
		if i.Try(t, i.Bytes) != nil {
			t.Fatalf("%s: the image itself is refused", i.Name)
		}
		if len(i.Bytes) < 4000 {
			i.EveryByte(t, 20_000)
		}
	}
}

// TestImage_LaneOfNothing opens an image without attributes that has a lane: an error.
func TestImage_LaneOfNothing(t *testing.T) {
	for _, flags := range []byte{0, imageWritten, imageWritten | imageClosed} {
		var w fields.Writer
		w.Raw([]byte{flags, 0, 0, 0, 0, 0, 1, 0, 0, 0}) // the head, a lane, and no attributes, texts and numbers
		w.Raw([]byte{1, 23: 0})                         // one slot
		w.Raw(make([]byte, laneWidth+2))                // kinds, tiles, entries
		if _, _, err := OpenImage(Options{}, w.Data); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "slots 1 of attributes 0") {
			t.Errorf("flags %d: %v", flags, err)
		}
	}
}

func TestImage_RandomChanges(t *testing.T) { damaged.RandomChanges(t, images(t)) }

// TestImage_BesideWriter makes images of views while the writer goes on: new attributes, aborted
// ones, tiles and drops. Each answers as its view, and has the ongoing state of its commit.
func TestImage_BesideWriter(t *testing.T) {
	h, err := New(Options{Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	views := make(chan *View, 4)
	go func() {
		defer close(views)
		rng := rand.New(rand.NewPCG(1, 1))
		at := int64(0)
		for round := range effort.Less(300, 6) {
			w, err := h.Begin()
			if err != nil {
				t.Error(err)
				return
			}
			for range rng.IntN(200) {
				at++
				a, err := w.Attribute("a", strconv.Itoa(rng.IntN(10+round)))
				if err == nil {
					err = w.Change(at, a, String("s"+strconv.Itoa(rng.IntN(40+round))))
				}
				if err == nil {
					a, err = w.Attribute("b", strconv.Itoa(rng.IntN(10+round)))
				}
				var in Interval
				if err == nil {
					in, err = w.Ongoing(a)
				}
				if err == nil && in.Start <= at {
					err = w.Add(a, in.Start, at, Int(at))
				}
				if err != nil && !errors.Is(err, ErrFinal) {
					t.Error(err)
					return
				}
			}
			at++
			if rng.IntN(4) == 0 {
				w.Abort()
				continue
			}
			if rng.IntN(6) == 0 {
				w.DropBefore(at - 2000)
			}
			w.Prepare()
			w.Journal()
			v, err := w.Commit()
			if err != nil {
				t.Error(err)
				return
			}
			views <- v
		}
	}()
	n := 0
	for v := range views {
		_, again, err := OpenImage(Options{}, v.AppendImage(nil))
		if err != nil {
			t.Fatal(err)
		}
		n++
		if again.Len() != v.Len() || again.Start() != v.Start() || again.End() != v.End() || again.barred != v.barred || again.final != v.final {
			t.Fatalf("%d attributes from %d to %d, want %d from %d to %d", again.Len(), again.Start(), again.End(), v.Len(), v.Start(), v.End())
		}
		for a := range Attribute(v.Len()) {
			if !v.Instants() {
				break
			}
			next, stop := iter.Pull2(again.Range(a, v.Start(), v.End(), RangeOptions{}))
			for want := range v.Range(a, v.Start(), v.End(), RangeOptions{}) {
				if got, err, ok := next(); !ok || err != nil || got != want {
					t.Fatalf("view %d, attribute %d: %+v, %v, want %+v", n, a, got, err, want)
				}
			}
			stop()
		}
	}
}

// TestImage_JournalsGoOn repeats the journals of later commits on an image. They have the numbers of
// texts of earlier ones.
func TestImage_JournalsGoOn(t *testing.T) {
	h, err := New(Options{Start: 100, Journal: true})
	if err != nil {
		t.Fatal(err)
	}
	write := func(at int64, text string) (*View, []byte) {
		w, err := h.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			a, err := w.Attribute("a", strconv.Itoa(i))
			if err == nil {
				err = w.Change(at+int64(i), a, String(text+strconv.Itoa(i%2)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w.Prepare()
		j := w.Journal()
		v, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		return v, j
	}
	write(200, "one ")
	write(300, "two ")
	v, _ := write(400, "one ")
	image := v.AppendImage(nil)
	_, second := write(500, "two ")
	last, third := write(600, "three ")
	again, _, err := OpenImage(Options{}, image)
	if err != nil {
		t.Fatal(err)
	}
	var got *View
	for _, j := range [][]byte{second, third} {
		if got, err = again.Replay(j); err != nil {
			t.Fatal(err)
		}
	}
	useView(t, got)
	for a := range Attribute(last.Len()) {
		for _, at := range []int64{450, 550, last.End()} {
			want, _ := last.At(a, at)
			if in, err := got.At(a, at); err != nil || in != want {
				t.Errorf("attribute %d at %d: %+v, %v, want %+v", a, at, in, err, want)
			}
		}
	}
}

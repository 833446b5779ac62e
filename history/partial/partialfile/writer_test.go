package partialfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
)

// growing is events that come in parts, which are read into a file, and what that must answer.
type growing struct {
	events.Growing
	whole map[int64]*history.View // by end
}

func newGrowing(seed uint64) *growing {
	g := &growing{whole: map[int64]*history.View{}}
	r := rand.New(rand.NewPCG(seed, 6))
	for len(g.List) < 100 {
		g.List = events.Draw(r, 0)
	}
	return g
}

// until returns the whole history of the events up to an instant, nil if there is none.
func (g *growing) until(t testing.TB, end int64) *history.View {
	n := 0
	for n < len(g.List) && g.List[n].At <= end {
		n++
	}
	if g.whole[end] == nil && n > 0 {
		g.whole[end] = events.Whole(t, g.List[:n], events.Name, nil, 0, end)
	}
	return g.whole[end]
}

// differs asks for the states of all attributes at each instant up to the end of a history that goes on or has ended,
// and behind it, and says what is wrong.
func (g *growing) differs(t testing.TB, h *partialfile.Reader[events.Event]) (string, error) {
	full := g.until(t, h.End())
	var late *partial.NotYetError
	if _, err := h.Slice(t.Context(), h.End()+1, nil); !errors.Is(err, history.ErrOutside) || errors.As(err, &late) == h.Closed() {
		return fmt.Sprintf("behind the end at %d: %v", h.End(), err), nil
	}
	if full == nil {
		return "", nil
	}
	times := history.PixelTimes(0, h.End(), 1<<20) // fewer instants than pixels
	want, err := full.Sample(nil, times)
	if err != nil {
		return "", err
	}
	of, all, err := h.Sample(t.Context(), nil, times)
	if err != nil {
		return "", err
	}
	for i := range want.Len() {
		a, in := want.At(i)
		in.Open = !h.Closed() && in.End == h.End()
		if i >= len(all) || a != of[i] || !events.Same(all[i], in) {
			return fmt.Sprintf("interval %d of attribute %d is not %v", i, a, in), nil
		}
	}
	for i := want.Len(); i < len(all); i++ {
		if in := all[i]; int(of[i]) < full.Len() || in.Start != 0 || in.End != h.End() || !in.Value.IsNull() {
			return fmt.Sprintf("later attribute %d is %v", of[i], in), nil
		}
	}
	return "", nil
}

// write reads the events in random parts into a file, with a Sync behind each of them, and calls a function with the end
// that each Sync which returned made durable. The last part is finished if wanted.
func (g *growing) write(t testing.TB, disk *crashfs.FS, r *rand.Rand, finish bool, synced func(end int64, closed bool)) error {
	g.There.Store(0)
	w, err := partialfile.Create(t.Context(), "a", options(disk), &g.Growing, provide, partial.Options{Every: 1 + r.IntN(30)})
	if err != nil {
		return err
	}
	synced(-1, false)
	for n := int64(0); n < int64(len(g.List)); {
		n = min(n+r.Int64N(60), int64(len(g.List)))
		g.There.Store(n)
		if _, err := w.Read(t.Context()); err != nil {
			return errors.Join(err, w.Close())
		}
		if r.IntN(3) == 0 && n > 0 && n < int64(len(g.List)) && g.List[n].At > g.List[n-1].At {
			if err := w.Checkpoint(g.List[n-1].At); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if err := w.Sync(); err != nil {
			return errors.Join(err, w.Close())
		}
		h, err := w.History()
		if err != nil {
			return errors.Join(err, w.Close())
		}
		synced(h.End(), false)
	}
	if finish {
		if _, err := w.Finish(); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if finish {
		synced(g.List[len(g.List)-1].At, true)
	}
	return nil
}

// open opens a file, and says what is wrong with it. End is -2 for a file that is not opened.
func (g *growing) open(t testing.TB, disk *crashfs.FS) (end int64, closed bool, problem string, err error) {
	h, err := partialfile.Open("a", options(disk), &g.Growing, provide)
	if err != nil {
		return -2, false, "", err
	}
	problem, err = g.differs(t, h)
	end, closed = h.End(), h.Closed()
	return end, closed, problem, errors.Join(err, h.Close())
}

// TestWriter opens a file while it is written and after it was closed, with and without a Finish.
func TestWriter(t *testing.T) {
	for seed := range uint64(20) {
		g, r, disk := newGrowing(seed), rand.New(rand.NewPCG(seed, 9)), crashfs.New(crashfs.Options{})
		must(t, g.write(t, disk, r, seed%2 == 0, func(end int64, closed bool) {
			got, isClosed, problem, err := g.open(t, disk)
			if problem != "" || err != nil || got != end || closed != isClosed {
				t.Fatalf("seed %d: up to %d, closed %v, want %d, %v: %s, %v", seed, got, isClosed, end, closed, problem, err)
			}
		}))
		if _, closed, problem, err := g.open(t, disk); problem != "" || err != nil || closed != (seed%2 == 0) {
			t.Fatalf("seed %d: closed %v: %s, %v", seed, closed, problem, err)
		}
	}
}

// syncs are the sizes of a file behind each Sync, and what each made durable.
type syncs struct {
	size   []int
	end    []int64
	closed []bool
}

// grownFile returns the bytes of a file that grew, its events and its Syncs.
func grownFile(t testing.TB) ([]byte, *growing, *syncs) {
	g, disk, s := newGrowing(4), crashfs.New(crashfs.Options{}), new(syncs)
	must(t, g.write(t, disk, rand.New(rand.NewPCG(2, 9)), true, func(end int64, closed bool) {
		s.size, s.end, s.closed = append(s.size, len(disk.Get("a"))), append(s.end, end), append(s.closed, closed)
	}))
	return disk.Get("a"), g, s
}

// TestWriter_Cut cuts a file at every byte: what the last Sync before made durable is there, exactly.
func TestWriter_Cut(t *testing.T) {
	file, g, s := grownFile(t)
	last := -1
	for size := range len(file) + 1 {
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", file[:size])
		if last+1 < len(s.size) && size >= s.size[last+1] {
			last++
		}
		if effort.Race && size%17 != 0 && (last < 0 || size != s.size[last]) {
			continue
		}
		end, closed, problem, err := g.open(t, disk)
		if last < 0 {
			if !isDamage(err) && !errors.Is(err, partial.ErrImage) {
				t.Fatalf("%d of %d bytes: up to %d, %v", size, len(file), end, err)
			}
			continue
		}
		if err != nil || problem != "" || end != s.end[last] || closed != s.closed[last] {
			t.Fatalf("%d of %d bytes, Sync %d: up to %d, closed %v, want %d: %s, %v", size, len(file), last, end, closed, s.end[last], problem, err)
		}
	}
	t.Logf("%d bytes, Syncs at %d make durable what is up to %d", len(file), s.size, s.end)
	if last < 4 || last != len(s.size)-1 {
		t.Errorf("%d of %d Syncs were seen", last+1, len(s.size))
	}
}

// TestWriter_Flip flips every bit of a file: an error of damage when it is opened or asked, or what some Sync made durable.
func TestWriter_Flip(t *testing.T) {
	file, g, s := grownFile(t)
	known := map[int64]bool{}
	for _, end := range s.end {
		known[end] = true
	}
	counts, step := map[string]int{}, int64(7)
	if effort.Full {
		step = 1
	}
	if effort.Race {
		step = 101
	}
	for bit := int64(0); bit < int64(len(file))*8; bit += step {
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", append([]byte(nil), file...))
		disk.Flip("a", bit)
		end, closed, problem, err := g.open(t, disk)
		switch {
		case problem != "", err != nil && !isDamage(err) && !errors.Is(err, partial.ErrImage):
			t.Fatalf("bit %d: %s, %v", bit, problem, err)
		case err != nil:
			counts["damaged"]++
		case !known[end]:
			t.Fatalf("bit %d: up to %d, no Sync was", bit, end)
		case closed:
			counts["whole"]++
		default:
			counts["an earlier Sync"]++
		}
	}
	t.Logf("%d bytes: %v", len(file), counts)
	if counts["damaged"] < 100/int(step) || counts["an earlier Sync"] < 100/int(step) || counts["whole"] < 100/int(step) {
		t.Error(counts)
	}
}

// TestWriter_Crash lets each call of the disk fail, once or from then on, and the machine crash at that moment: the file
// opens with all that was synced, exactly, and so it does if the writer goes on.
func TestWriter_Crash(t *testing.T) {
	lives, lost := 0, 0
	for _, kind := range []crashfs.Fault{
		{Err: syscall.EIO},
		{Err: syscall.ENOSPC, Ops: []crashfs.Op{crashfs.WriteAt}, Forever: true},
		{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}, Forever: true},
	} {
		for after := 0; ; after++ {
			if effort.Race && after%5 != 0 {
				continue
			}
			g, disk := newGrowing(uint64(after)), crashfs.New(crashfs.Options{Seed: uint64(after), Keep: 0.5})
			fault := kind
			fault.After = after
			disk.Fail(&fault)
			durable := int64(-2)
			err := g.write(t, disk, rand.New(rand.NewPCG(uint64(after)/7, 9)), after%2 == 0, func(end int64, _ bool) { durable = end })
			if fault.Fired == 0 {
				must(t, err)
				break
			}
			if !errors.Is(err, kind.Err) {
				t.Fatalf("call %d fails: %v", after, err)
			}
			disk.Heal()
			for name, of := range map[string]*crashfs.FS{"a crash": disk.Crash(), "no crash": disk} {
				end, _, problem, err := g.open(t, of)
				if durable == -2 && (isDamage(err) || errors.Is(err, partial.ErrImage) || errors.Is(err, fs.ErrNotExist)) {
					lost++
					continue
				}
				if err != nil || problem != "" || end < durable {
					t.Fatalf("call %d fails, %s: up to %d, synced up to %d: %s, %v", after, name, end, durable, problem, err)
				}
			}
			lives++
		}
	}
	t.Logf("%d lives; %d files had not been created", lives, lost)
}

// TestWriter_Errors has files that are there, and events that fail: what was synced stays, and more of it can be.
func TestWriter_Errors(t *testing.T) {
	g, disk := newGrowing(1), crashfs.New(crashfs.Options{})
	broken := errors.New("broken")
	n := 0
	fails := func(w *partial.Writer, e events.Event) error {
		if n++; n == 50 {
			return broken
		}
		return provide(w, e)
	}
	w, err := partialfile.Create(t.Context(), "a", options(disk), &g.Growing, fails, partial.Options{Every: 10})
	must(t, err)
	if _, err := partialfile.Create(t.Context(), "a", options(disk), &g.Growing, provide, partial.Options{Every: 10}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	if _, err := partialfile.Create(t.Context(), "b", options(disk), &g.Growing, provide, partial.Options{}); !errors.Is(err, history.ErrQuery) || disk.Get("b") != nil {
		t.Errorf("no distance: %v, %d bytes are left", err, len(disk.Get("b")))
	}
	g.There.Store(int64(len(g.List)))
	if _, err := w.Read(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the provider fails: %v", err)
	}
	must(t, w.Close())
	if end, closed, problem, err := g.open(t, disk); end < g.List[25].At || closed || problem != "" || err != nil {
		t.Errorf("up to %d, closed %v: %s, %v", end, closed, problem, err)
	}
	must(t, w.Discard())
	if disk.Get("a") != nil {
		t.Error("a file is left")
	}
}

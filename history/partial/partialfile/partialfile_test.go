package partialfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/events"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var provide = events.Provider(events.Name, nil)

func options(fs disk.FS) file.Options { return file.Options{Provider: "test 1", FS: fs, Cache: 1} }

func isDamage(err error) bool {
	var damage *disk.DamagedError
	return errors.As(err, &damage)
}

func instants(r *rand.Rand, full *history.View) func() int64 {
	return func() int64 { return full.Start() + r.Int64N(full.End()-full.Start()+1) }
}

// TestSame writes random histories, and asks what is opened.
func TestSame(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		start := r.Int64N(100) - 50
		l := events.Draw(r, start)
		opts := partial.Options{Start: start, End: l[len(l)-1].At + r.Int64N(3), Every: 1 + r.IntN(50)}
		disk := crashfs.New(crashfs.Options{})
		must(t, partialfile.Write(t.Context(), "a", options(disk), l, provide, opts))
		h, err := partialfile.Open("a", options(disk), l, provide)
		must(t, err)
		full := events.Whole(t, l, events.Name, nil, start, opts.End)
		for range 20 {
			events.Ask(t, seed, r, h, full, instants(r, full))
		}
		must(t, errors.Join(h.Verify(), h.Close()))
	}
}

// many returns events of which most are kept, in several blocks, and the whole history.
func many(t testing.TB) (events.List, *history.View) {
	r := rand.New(rand.NewPCG(1, 6))
	var l events.List
	for at := range int64(120_000) {
		l = append(l, events.Event{At: at, N: 4 * r.IntN(50), Value: history.Int(r.Int64())})
	}
	return l, events.Whole(t, l, events.Name, nil, 0, 120_000)
}

// TestBlocks writes more than the cache has room for, and reads it from several goroutines. A damaged block is an error of the
// questions that need it, and of no other.
func TestBlocks(t *testing.T) {
	l, full := many(t)
	disk := crashfs.New(crashfs.Options{})
	must(t, partialfile.Write(t.Context(), "a", options(disk), l, provide, partial.Options{End: full.End(), Every: 2}))
	h, err := partialfile.Open("a", options(disk), l, provide)
	must(t, err)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 7))
			for range effort.Part(100, 10) {
				at, a := instants(r, full)(), history.Attribute(r.IntN(full.Len()))
				want, _ := full.At(a, at)
				if got, err := h.At(t.Context(), a, at); err != nil || !events.Same(got, want) {
					t.Errorf("attribute %d at %d is %v, want %v: %v", a, at, got, want, err)
				}
			}
		})
	}
	wg.Wait()
	must(t, h.Close())
	if size := len(disk.Get("a")); size < 8*(64<<10) {
		t.Fatalf("%d bytes: too few blocks", size)
	}
	disk.Flip("a", 8*200_000)
	h, err = partialfile.Open("a", options(disk), l, provide)
	must(t, err)
	if err := h.Verify(); !isDamage(err) {
		t.Errorf("Verify() = %v", err)
	}
	failed, r := 0, rand.New(rand.NewPCG(9, 7))
	for range 500 {
		at, a := instants(r, full)(), history.Attribute(r.IntN(full.Len()))
		want, _ := full.At(a, at)
		switch got, err := h.At(t.Context(), a, at); {
		case isDamage(err):
			failed++
		case err != nil || !events.Same(got, want):
			t.Fatalf("attribute %d at %d is %v, want %v: %v", a, at, got, want, err)
		}
	}
	if failed == 0 || failed > 250 {
		t.Errorf("%d of 500 questions need the damaged block", failed)
	}
	must(t, h.Close())
}

// smallFile returns the bytes of a file, its events and the whole history.
func smallFile(t testing.TB) ([]byte, events.List, *history.View) {
	l := events.Draw(rand.New(rand.NewPCG(4, 6)), 0)
	end := l[len(l)-1].At
	disk := crashfs.New(crashfs.Options{})
	must(t, partialfile.Write(t.Context(), "a", options(disk), l, provide, partial.Options{Every: 20}))
	return disk.Get("a"), l, events.Whole(t, l, events.Name, nil, 0, end)
}

// differs asks for the states of all attributes at each instant, and says which one is wrong.
func differs(h *partialfile.Reader[events.Event], full *history.View) (string, error) {
	if h.Start() != full.Start() || h.End() != full.End() || h.Names().Len() != full.Len() {
		return fmt.Sprintf("%d attributes from %d to %d", h.Names().Len(), h.Start(), h.End()), nil
	}
	times := history.PixelTimes(full.Start(), full.End(), 1<<20) // fewer instants than pixels
	want, err := full.Sample(nil, times)
	if err != nil {
		return "", err
	}
	of, all, err := h.Sample(context.Background(), nil, times)
	if err != nil {
		return "", err
	}
	for i := range want.Len() {
		if a, in := want.At(i); len(all) != want.Len() || a != of[i] || !events.Same(all[i], in) {
			return fmt.Sprintf("interval %d of attribute %d is not %v", i, a, in), nil
		}
	}
	return "", nil
}

// TestCut cuts a small file at every byte: no part of it is a history.
func TestCut(t *testing.T) {
	image, l, _ := smallFile(t)
	unfinished := 0
	for size := range image {
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", image[:size])
		_, err := partialfile.Open("a", options(disk), l, provide)
		switch {
		case errors.Is(err, partial.ErrImage):
			unfinished++
		case !isDamage(err):
			t.Fatalf("%d of %d bytes: %v", size, len(image), err)
		}
	}
	t.Logf("%d cuts, %d of them are the file that the history begins with", len(image), unfinished)
	if unfinished < 100 {
		t.Error("too few have a whole end")
	}
}

// TestFlip flips every bit of a small file: an error of damage when it is opened or asked, or right answers.
func TestFlip(t *testing.T) {
	image, l, full := smallFile(t)
	counts := map[string]int{}
	step := int64(1)
	if effort.Brief() {
		step = 31
	}
	for bit := int64(0); bit < int64(len(image))*8; bit += step {
		disk := crashfs.New(crashfs.Options{})
		disk.Put("a", append([]byte(nil), image...))
		disk.Flip("a", bit)
		h, err := partialfile.Open("a", options(disk), l, provide)
		if err != nil {
			if !isDamage(err) && !errors.Is(err, partial.ErrImage) {
				t.Fatalf("bit %d: %v", bit, err)
			}
			counts["refused"]++
			continue
		}
		problem, err := differs(h, full)
		if problem != "" || err != nil && !isDamage(err) || (err != nil) != (h.Verify() != nil) {
			t.Fatalf("bit %d: %s, %v, %v", bit, problem, err, h.Verify())
		}
		if err != nil {
			counts["damaged block"]++
		} else {
			counts["whole"]++
		}
	}
	t.Logf("%d bytes: %v", len(image), counts)
	if least := 500 / int(step); counts["refused"] < least || counts["damaged block"] < least {
		t.Error(counts)
	}
}

// TestFaults lets each call of the disk fail, once or from then on: then there is no file. A crash amid a write leaves
// none that is opened with other answers.
func TestFaults(t *testing.T) {
	_, l, full := smallFile(t)
	for _, kind := range []crashfs.Fault{
		{Err: syscall.EIO},
		{Err: syscall.ENOSPC, Ops: []crashfs.Op{crashfs.WriteAt}, Forever: true},
		{Err: syscall.EIO, Ops: []crashfs.Op{crashfs.Sync}, Forever: true},
	} {
		for after := 0; ; after++ {
			disk := crashfs.New(crashfs.Options{Seed: uint64(after), Keep: 0.5})
			fault := kind
			fault.After = after
			disk.Fail(&fault)
			err := partialfile.Write(t.Context(), "a", options(disk), l, provide, partial.Options{Every: 20})
			if fault.Fired == 0 {
				must(t, err)
				break
			}
			if !errors.Is(err, kind.Err) || disk.Get("a") != nil {
				t.Fatalf("call %d: %v, %d bytes are left", after, err, len(disk.Get("a")))
			}
			h, err := partialfile.Open("a", options(disk.Crash()), l, provide)
			if err == nil {
				problem, wrong := differs(h, full)
				if problem != "" || wrong != nil {
					t.Fatalf("call %d: %s, %v", after, problem, wrong)
				}
			} else if !isDamage(err) && !errors.Is(err, partial.ErrImage) && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("call %d: %v", after, err)
			}
		}
	}
}

// TestErrors has files of others, and builds that end with an error.
func TestErrors(t *testing.T) {
	image, l, _ := smallFile(t)
	disk := crashfs.New(crashfs.Options{})
	disk.Put("a", image)
	o := options(disk)
	if err := partialfile.Write(t.Context(), "a", o, l, provide, partial.Options{Every: 1}); !errors.Is(err, fs.ErrExist) || len(disk.Get("a")) != len(image) {
		t.Errorf("a file that is there: %v", err)
	}
	o.Provider = "test 2"
	if _, err := partialfile.Open("a", o, l, provide); !errors.Is(err, file.ErrFormat) {
		t.Errorf("another provider: %v", err)
	}
	w, err := file.Create("whole", options(disk))
	must(t, err)
	events.Write(t, w.History, l, events.Name, nil, l[len(l)-1].At)
	must(t, w.Close())
	if _, err := partialfile.Open("whole", options(disk), l, provide); !errors.Is(err, partial.ErrImage) {
		t.Errorf("a whole history: %v", err)
	}
	if _, err := partialfile.Open("none", options(disk), l, provide); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	broken := errors.New("broken")
	n := 0
	fails := func(w *partial.Writer, e events.Event) error {
		if n++; n == 50 {
			return broken
		}
		return provide(w, e)
	}
	if err := partialfile.Write(t.Context(), "b", options(disk), l, fails, partial.Options{Every: 1}); !errors.Is(err, broken) || disk.Get("b") != nil {
		t.Errorf("the provider fails: %v, %d bytes are left", err, len(disk.Get("b")))
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := partialfile.Write(canceled, "b", options(disk), l, provide, partial.Options{Every: 1}); !errors.Is(err, context.Canceled) || disk.Get("b") != nil {
		t.Errorf("canceled: %v, %d bytes are left", err, len(disk.Get("b")))
	}
	if err := partialfile.Write(t.Context(), "b", options(disk), l, provide, partial.Options{}); !errors.Is(err, history.ErrQuery) || disk.Get("b") != nil {
		t.Errorf("no distance: %v", err)
	}
}

// TestDiffers opens a file with other events: a replay that shows it has an error.
func TestDiffers(t *testing.T) {
	var l events.List
	for at := range int64(100) {
		l = append(l, events.Event{At: at, Value: history.Int(at)})
	}
	path := filepath.Join(t.TempDir(), "a")
	must(t, partialfile.Write(t.Context(), path, file.Options{}, l, provide, partial.Options{Every: 20}))
	h, err := partialfile.Open(path, file.Options{}, l[:30], provide)
	must(t, err)
	var of *partial.EventsError
	if _, err := h.At(t.Context(), 1, 35); !errors.Is(err, partial.ErrDiffers) {
		t.Errorf("events end early: %v", err)
	}
	if _, err := h.At(t.Context(), 1, 75); !errors.As(err, &of) {
		t.Errorf("no such position: %v", err)
	}
	if in, err := h.At(t.Context(), 1, h.Checkpoints()[1]); err != nil || in.Value.Int() != h.Checkpoints()[1] {
		t.Errorf("at a checkpoint: %v, %v", in, err)
	}
	must(t, h.Close())
	if err := h.Verify(); err == nil {
		t.Error("a closed file is read")
	}
}

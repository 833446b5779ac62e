package golang

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

var update = flag.Bool("update", false, "record testdata/small.trace anew; with -trimpath, so that it names no folders")

const small = "testdata/small.trace"

var spun int

// spin uses the processor.
func spin(d time.Duration) (n int) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for range 1000 {
			n++
		}
	}
	return n
}

// work is a program with a lock, a channel, a collection and a loop. It returns when all of it ended.
func work(d time.Duration) {
	var lock sync.Mutex
	var all sync.WaitGroup
	in := make(chan int)
	all.Go(func() {
		for range in {
			lock.Lock()
			time.Sleep(d / 50)
			lock.Unlock()
		}
	})
	all.Go(func() { spun = spin(d) })
	for i := range 5 {
		in <- i
		lock.Lock()
		runtime.Gosched()
		lock.Unlock()
	}
	runtime.GC()
	close(in)
	all.Wait()
}

// record returns a trace of work, with CPU samples.
func record(t testing.TB, d time.Duration) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	work(d)
	trace.Stop()
	return out.Bytes()
}

// all reads a trace.
func all(data []byte, most int64) (events []Event, r *Reader, err error) {
	if r, err = NewReader(bytes.NewReader(data), most); err != nil {
		return nil, nil, err
	}
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, r, nil
		}
		if err != nil {
			return events, r, err
		}
		events = append(events, ev)
	}
}

// check holds a trace of work to what work does.
func check(t *testing.T, data []byte) {
	t.Helper()
	events, r, err := all(data, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if _, dated := r.Clock(); !dated {
		t.Error("no clock")
	}
	reasons, states, kinds := map[string]int{}, map[State]int{}, map[Kind]int{}
	spinning, spinner := 0, map[int64]bool{}
	for i, ev := range events {
		if i > 0 && ev.Time <= events[i-1].Time || ev.Time > r.End() || ev.Time < r.Begin() {
			t.Fatalf("event %d of %d is at %d, behind %d, in %d to %d", i, len(events), ev.Time, events[max(0, i-1)].Time, r.Begin(), r.End())
		}
		kinds[ev.Kind]++
		switch ev.Kind {
		case Goroutine:
			reasons[ev.Reason]++
			states[ev.State]++
		case Sample:
			if slices.ContainsFunc(ev.Stack, func(f StackFrame) bool { return strings.HasSuffix(f.Func, ".spin") }) {
				spinning++
				spinner[ev.ID] = true
			}
		}
	}
	for _, reason := range []string{"chan receive", "sleep", "sync"} {
		if reasons[reason] == 0 {
			t.Errorf("nothing waits for %q: %v", reason, reasons)
		}
	}
	for _, s := range []State{None, Running, Runnable, Waiting} {
		if states[s] == 0 {
			t.Errorf("no goroutine is in state %d: %v", s, states)
		}
	}
	for _, k := range []Kind{Goroutine, Proc, Collector, Stopped, Sample} {
		if kinds[k] == 0 {
			t.Errorf("no event of kind %d: %v", k, kinds)
		}
	}
	if spinning < 2 || len(spinner) != 1 {
		t.Errorf("%d samples of the loop in goroutines %v", spinning, spinner)
	}
}

func TestReader(t *testing.T) { check(t, record(t, 300*time.Millisecond)) }

// TestReader_File reads a trace that was recorded once.
func TestReader_File(t *testing.T) {
	if *update {
		if err := os.WriteFile(small, record(t, 300*time.Millisecond), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check(t, file(t))
}

func file(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReader_Errors(t *testing.T) {
	data := file(t)
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		in   io.Reader
		most int64
		want error
	}{
		{"empty", strings.NewReader(""), 1 << 20, ErrFormat},
		{"text", strings.NewReader("time,attribute,value\n1,a,b\n"), 1 << 20, ErrFormat},
		{"old", strings.NewReader("go 1.21 trace\x00\x00\x00" + strings.Repeat("\x01", 100)), 1 << 20, ErrFormat},
		{"of the future", strings.NewReader("go 1.99 trace\x00\x00\x00"), 1 << 20, ErrFormat},
		{"header alone", bytes.NewReader(data[:16]), 1 << 20, nil},
		{"cut", bytes.NewReader(data[:len(data)*2/3]), 1 << 20, ErrFormat},
		{"too long", bytes.NewReader(data), int64(len(data) - 1), ErrLimit},
		{"just fits", bytes.NewReader(data), int64(len(data)), nil},
		{"a failing disk", io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)), 1 << 20, broken},
		{"a disk that fails at once", iotest.ErrReader(broken), 1 << 20, broken},
	} {
		r, err := NewReader(test.in, test.most)
		for err == nil {
			_, err = r.Next()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if r == nil {
			continue
		}
		if _, again := r.Next(); again == nil || err != nil && again.Error() != err.Error() {
			t.Errorf("%s: then %v", test.name, again)
		}
	}
}

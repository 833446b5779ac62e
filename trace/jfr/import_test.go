package jfr

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/heldtest"
	"github.com/granarydb/granary/trace"
)

// waiting returns the recording of testdata/Waits.java.
func waiting(t testing.TB) []byte {
	t.Helper()
	packed, err := os.ReadFile("testdata/waits.jfr.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func imported(in io.Reader) (*history.View, trace.Outcome, error) {
	return heldtest.Imported(Import, in)
}

// state is a state of a thread, or of the collector.
type state struct {
	of              string
	start, duration int64
	what            string
}

// allStates returns all that is not null in a view, without levels and lanes.
func allStates(t testing.TB, v *history.View) (all []state) {
	t.Helper()
	for _, a := range v.All() {
		path, err := v.Path(a)
		if err != nil {
			t.Fatal(err)
		}
		for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !in.Value.IsNull() {
				all = append(all, state{strings.Join(path[:2], "/"), in.Start, in.End - in.Start + 1, in.Value.Text()})
			}
		}
	}
	return all
}

// kinds are the states by the names of their events.
var kinds = map[string]string{
	"jdk.ThreadPark": "parked", "jdk.ThreadSleep": "sleeping", "jdk.JavaMonitorEnter": "entering a monitor (java.lang.Object)",
	"jdk.JavaMonitorWait": "waiting on a monitor (", "jdk.GarbageCollection": "G1", "jdk.GCPhasePause": "GC Pause",
}

// TestImport_Want holds a recording to what the JDK's own reader finds in it. That one counts in floats, so it may be a nanosecond off.
func TestImport_Want(t *testing.T) {
	view, outcome, err := imported(iotest.HalfReader(bytes.NewReader(waiting(t))))
	if err != nil || outcome.Lost != nil || len(outcome.LeftOut()) > 0 {
		t.Fatal(err, outcome)
	}
	got := allStates(t, view)
	table, err := os.ReadFile("testdata/waits.want.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(table)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		start, err1 := strconv.ParseInt(cells[1], 10, 64)
		duration, err2 := strconv.ParseInt(cells[2], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(line)
		}
		of := "Threads/" + cells[0]
		switch cells[3] {
		case "jdk.GarbageCollection":
			of = "GC/collections"
		case "jdk.GCPhasePause":
			of = "GC/pauses"
		}
		i := slices.IndexFunc(got, func(s state) bool {
			near := func(a, b int64) bool { return max(a-b, b-a) <= 1 }
			return s.of == of && near(s.start, start) && near(s.duration, duration) && strings.HasPrefix(s.what, kinds[cells[3]])
		})
		if i < 0 {
			t.Errorf("%s is not there", strings.TrimSpace(line))
			continue
		}
		got = slices.Delete(got, i, i+1)
		n++
	}
	if len(got) > 0 || n < 100 {
		t.Errorf("%d states were found; %v are not in the recording", n, got)
	}
}

// chunkOf changes the recording's header.
func chunkOf(t testing.TB, at int, value uint64) []byte {
	data := waiting(t)
	binary.BigEndian.PutUint64(data[at:], value)
	return data
}

// TestImport_Cut imports whole chunks, and says what is lost.
func TestImport_Cut(t *testing.T) {
	data := waiting(t)
	whole, _, err := imported(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := allStates(t, whole)
	for name, tc := range map[string]struct {
		more []byte
		lost string
	}{
		"half a chunk":          {data[:len(data)/2], "the end within the chunk"},
		"half a header":         {data[:30], "the end within the chunk"},
		"a chunk without size":  {chunkOf(t, 8, 0), "the recording was not ended"},
		"other bytes":           {make([]byte, 100), "no chunk begins here"},
		"a huge chunk":          {chunkOf(t, 8, 1<<62), "at most"},
		"a large chunk":         {chunkOf(t, 8, 500<<20), "the end within the chunk"},
		"constants elsewhere":   {chunkOf(t, 16, 1<<40), "outside of the chunk"},
		"classes elsewhere":     {chunkOf(t, 24, 80), "bad recording of Java"},
		"no ticks":              {chunkOf(t, 56, 0), "a time of more than 63 bits"},
		"an impossible version": {chunkOf(t, 4, 0), "version 0"},
	} {
		view, outcome, err := imported(bytes.NewReader(slices.Concat(data, tc.more)))
		if err != nil || !errors.Is(outcome.Lost, ErrFormat) || !strings.Contains(outcome.Lost.Error(), tc.lost) {
			t.Errorf("%s: %v, %v, want %q", name, outcome.Lost, err, tc.lost)
			continue
		}
		if got := allStates(t, view); !slices.Equal(got, want) {
			t.Errorf("%s: %d states, want %d", name, len(got), len(want))
		}
		if _, _, err := imported(bytes.NewReader(tc.more)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s alone: %v", name, err)
		}
	}
	view, outcome, err := imported(bytes.NewReader(slices.Concat(data, data)))
	if err != nil || outcome.Lost != nil || len(allStates(t, view)) != 2*len(want) {
		t.Errorf("two chunks: %v, %v", outcome, err)
	}
	for _, bad := range []string{"", "FLR", "FLR\x00"} {
		if _, _, err := imported(strings.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	broken := errors.New("broken")
	if _, _, err := imported(io.MultiReader(bytes.NewReader(data[:1000]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// TestImport_Changed changes each part of a recording in turn: there is no panic, and memory is bounded.
func TestImport_Changed(t *testing.T) {
	effort.Long(t)
	data := waiting(t)
	for i := 0; i < len(data); i += 1 + len(data)/60 {
		for _, change := range []byte{0x00, 0x7f, 0xff} {
			changed := slices.Clone(data)
			for j := range min(3, len(data)-i) {
				changed[i+j] = change
			}
			var err error
			used := effort.Allocated(func() { _, _, err = imported(bytes.NewReader(changed)) })
			if used > uint64(32<<20+50*len(data)) || err != nil && !errors.Is(err, ErrFormat) {
				t.Errorf("byte %d: %d bytes of memory, %v", i, used, err)
			}
		}
	}
}

// FuzzImport imports any bytes: there is no panic, and every error is a documented one.
func FuzzImport(f *testing.F) {
	data := waiting(f)
	f.Add(data)
	f.Add(data[:1000])
	f.Add(data[:68])
	f.Fuzz(func(t *testing.T, data []byte) {
		Magic(data)
		view, outcome, err := imported(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if fmt.Sprint(allStates(t, view)) == "[]" {
			t.Fatal("no state", outcome)
		}
	})
}

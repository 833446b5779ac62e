package golang

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	rt "runtime/trace"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/beside"
	"github.com/granarydb/granary/trace"
)

// imported imports a trace.
func imported(t testing.TB, data []byte) (*history.View, *Reader) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	built, err := trace.Build(func(to trace.Target) error {
		_, err := importTo(t.Context(), r, to, ImportOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return built.View, r
}

// generations returns a trace of several generations. A flight recorder ends one.
func goroutineGenerations(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := rt.Start(&out); err != nil {
		t.Fatal(err)
	}
	fr := rt.NewFlightRecorder(rt.FlightRecorderConfig{})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		work(40 * time.Millisecond)
		if _, err := fr.WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	fr.Stop()
	rt.Stop()
	return out.Bytes()
}

// totals returns the nanoseconds of each goroutine in each state.
func totals(t testing.TB, v *history.View) map[total]int64 {
	t.Helper()
	of := map[total]int64{}
	top, err := v.Lookup(Goroutines)
	if err != nil {
		t.Fatal(err)
	}
	for a := range v.Children(top) {
		name, err := v.Name(a)
		if err != nil {
			t.Fatal(err)
		}
		goroutine, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for in, err := range v.Range(a, v.Start(), v.End(), history.RangeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !in.Value.IsNull() {
				of[total{goroutine, in.Value.Text()}] += in.End - in.Start + 1
			}
		}
	}
	return of
}

// TestImport holds histories of traces to the oracle, at instants and in sum.
func TestImport(t *testing.T) {
	for name, data := range map[string][]byte{"recorded once": file(t), "of this program": record(t, 100*time.Millisecond), "of generations": goroutineGenerations(t)} {
		s := replayed(t, data)
		view, r := imported(t, data)
		if !view.Closed() || view.Start() != s.from || view.End() != s.to-1 || r.Broken() != nil {
			t.Errorf("%s: from %d to %d, closed %v, want %d to %d, %v", name, view.Start(), view.End(), view.Closed(), s.from, s.to, r.Broken())
		}
		if n := compare(t, view, s, s.from, view.End(), true); n < 500 {
			t.Errorf("%s: only %d states were compared", name, n)
		}
		if got, want := totals(t, view), s.totals(); !maps.Equal(got, want) || len(want) < 20 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestImport_Function finds the function of a goroutine from its first state on, though its stack comes later.
func TestImport_Function(t *testing.T) {
	view, _ := imported(t, file(t))
	top, err := view.Lookup(Goroutines)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for a := range view.Children(top) {
		function, err := view.LookupFrom(a, "function")
		if err != nil {
			t.Fatal(err)
		}
		first, ok, err := view.NextNonNull(a, view.Start())
		if err != nil || !ok {
			t.Fatalf("goroutine without a state: %v", err)
		}
		name, ok, err := view.NextNonNull(function, view.Start())
		if err != nil {
			t.Fatal(err)
		}
		if ok && name.Start != first.Start {
			t.Errorf("%v is %v from %d on, and in a state from %d on", a, name.Value, name.Start, first.Start)
		}
		if ok {
			named++
		}
	}
	if named < 10 {
		t.Errorf("%d goroutines have a function", named)
	}
}

// TestImport_Want holds recorded traces to sums that another program made: of several generations, cut, and with
// a clock that goes back.
func TestImport_Want(t *testing.T) {
	for name, wantFile := range map[string]string{
		"short-500ms":          "short-500ms",
		"three-generations":    "three-generations",
		"cut-third-generation": "cut-third-generation",
		"clock-back-10s":       "three-generations",
	} {
		data, err := os.ReadFile(beside.Data(t, "traces/"+name+".trace"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := os.ReadFile(beside.Data(t, "traces/"+wantFile+".want.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[total]int64{}
		for line := range strings.Lines(string(lines)) {
			cells := strings.Split(line, "\t")
			goroutine, err := strconv.ParseInt(cells[0], 10, 64)
			if err != nil {
				continue // the names of the columns
			}
			if want[total{goroutine, cells[1]}], err = strconv.ParseInt(cells[2], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		view, r := imported(t, data)
		if got := totals(t, view); !maps.Equal(got, want) || len(want) < 30 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if isCut := name == "cut-third-generation"; isCut != errors.Is(r.Broken(), ErrFormat) {
			t.Errorf("%s: the reader says %v", name, r.Broken())
		}
	}
}

// TestImport_OldFormats reads traces of three formats before Go 1.22, which have no date: they begin at the one that is
// given.
func TestImport_OldFormats(t *testing.T) {
	const begun = 1_700_000_000_000_000_000
	for _, version := range []string{"go1.11", "go1.19", "go1.21"} {
		packed, err := os.ReadFile("testdata/" + version + ".trace.gz")
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
		s := replayed(t, data)
		samples := 0
		for _, date := range []int64{0, begun} {
			samples = 0
			built, err := trace.Build(func(to trace.Target) error {
				_, err := ImportWith(t.Context(), bytes.NewReader(data), to, ImportOptions{Begun: date, Samples: func(some []Sampled) error {
					samples += len(some)
					return nil
				}})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := totals(t, built.View), s.totals(); !maps.Equal(got, want) || len(want) < 20 {
				for of, ns := range want {
					if got[of] != ns {
						t.Errorf("%s, begun at %d: %v for %d ns, want %d", version, date, of, got[of], ns)
					}
				}
				t.Errorf("%s: %d totals, want %d", version, len(got), len(want))
			}
			if start := built.Start(); date != 0 && start != date || date == 0 && start != s.from {
				t.Errorf("%s begins at %d, want %d", version, start, date)
			}
		}
		if !IsWhole(data) || samples != len(s.samples) || version != "go1.11" && samples == 0 {
			t.Errorf("%s: %d samples, want %d", version, samples, len(s.samples))
		}
	}
}

// TestFollower_Renew commits in the middle of a trace.
func TestFollower_Renew(t *testing.T) {
	data := goroutineGenerations(t)
	s := replayed(t, data)
	k := keep(t, FollowOptions{ByID: true})
	r, err := NewReader(bytes.NewReader(data), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := k.h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	commits := 0
	again := func() (*history.Writer, error) {
		commits++
		if _, err := tx.Commit(); err != nil {
			return nil, err
		}
		tx, err = k.h.Begin()
		return tx.Writer, err
	}
	k.renew, k.renewEach = again, 10
	if err := k.Window(t.Context(), r, tx.Writer, nil); err != nil {
		t.Fatal(err)
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if n := compare(t, view, s, s.from, view.End(), true); n < 500 || commits < 5 {
		t.Errorf("%d states were compared, %d commits", n, commits)
	}
}

// TestImport_Errors passes on what the target says, and refuses a trace without events.
func TestImport_Errors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Import(t.Context(), bytes.NewReader(file(t)), trace.Target{Begin: func(int64) (*history.Writer, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if _, err := Import(t.Context(), bytes.NewReader(file(t)[:headerBytes]), trace.Target{}); !errors.Is(err, ErrFormat) {
		t.Errorf("without events: %v", err)
	}
}

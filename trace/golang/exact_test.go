package golang

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	rt "runtime/trace"
	"slices"
	"sync"
	"testing"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/trace"
)

// TestImport_Exact holds traces of real programs, and one of 300,000 goroutines, to the oracle: the time of each goroutine in
// each state, and the samples. GRANARY_TRACES names a folder with more traces.
func TestImport_Exact(t *testing.T) {
	effort.Slow(t)
	dir := t.TempDir()
	compiled := filepath.Join(dir, "compile.trace")
	build := exec.Command("go", "build", "-gcflags=net/http=-traceprofile="+compiled, "net/http")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	many := filepath.Join(dir, "many.trace")
	if err := os.WriteFile(many, goroutines(t, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []string{compiled, many}
	if more := os.Getenv("GRANARY_TRACES"); more != "" {
		found, err := filepath.Glob(filepath.Join(more, "*.trace"))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s has %d traces: %v", more, len(found), err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := replayed(t, data)
		var samples []sampled
		built, err := trace.Build(func(to trace.Target) error {
			_, err := ImportWith(t.Context(), bytes.NewReader(data), to, ImportOptions{Samples: func(some []Sampled) error {
				for _, x := range some {
					samples = append(samples, sampled{x.Goroutine, x.At})
				}
				return nil
			}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, want := totals(t, built.View), s.totals()
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d of %d totals are other ones", file, len(maps.Collect(unequalTo(got, want))), len(want))
		}
		if !slices.Equal(samples, s.samples) {
			t.Errorf("%s: %d samples, want %d", file, len(samples), len(s.samples))
		}
		t.Logf("%s: %d bytes, %d totals of %d attributes, %d samples", filepath.Base(file), len(data), len(want), built.Len(), len(samples))
	}
}

// unequalTo returns the totals that another map has not.
func unequalTo(got, want map[total]int64) func(yield func(total, int64) bool) {
	return func(yield func(total, int64) bool) {
		for of, ns := range want {
			if got[of] != ns && !yield(of, ns) {
				return
			}
		}
	}
}

// goroutines returns a trace of n goroutines, a hundred at a time.
func goroutines(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	if err := rt.Start(&out); err != nil {
		t.Fatal(err)
	}
	defer rt.Stop()
	var all sync.WaitGroup
	var mu sync.Mutex
	turns := make(chan int, 100)
	sum := 0
	for i := range n {
		turns <- i
		all.Go(func() {
			mu.Lock()
			sum += <-turns
			mu.Unlock()
		})
	}
	all.Wait()
	rt.Stop()
	return out.Bytes()
}

package dict

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/granarydb/granary/internal/effort"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

func TestMain(m *testing.M) {
	effort.CollectRarely()
	effort.DrawLess()
	goleak.VerifyTestMain(m)
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// allocates holds a function to the allocations that its comment states.
func allocates(t *testing.T, name string, most float64, fn func()) {
	t.Helper()
	if n := testing.AllocsPerRun(50, fn); n > most {
		t.Errorf("%s allocates %v times, at most %v are stated", name, n, most)
	}
}

const benchValues = 1 << 16

var benchSink uint64

// perValue runs fn, which handles n values, and reports its cost.
func perValue(b *testing.B, n int, fn func()) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		fn()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/(float64(b.N)*float64(n)), "ns/value")
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/effort"
)

// sized counts what is written.
type sized struct {
	io.Writer
	n atomic.Int64
}

func (s *sized) Write(p []byte) (int, error) {
	s.n.Add(int64(len(p)))
	return s.Writer.Write(p)
}

// longTrace writes a trace of a number of bytes, at most 10 MB a second, and returns its file and size. The runtime ends a
// generation each second, and an import holds one.
func longTrace(t *testing.T, bytes int64) (string, int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "long.trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := &sized{Writer: f}
	if err := trace.Start(out); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var ended atomic.Bool
	const perSecond = 10_000_000
	begin := time.Now()
	for range 64 {
		in, back := make(chan int), make(chan int)
		all.Go(func() {
			defer close(in)
			for n := 0; !ended.Load(); n++ {
				in <- n
				<-back
				for n%10 == 0 && float64(out.n.Load()) > perSecond*time.Since(begin).Seconds() && !ended.Load() {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
		all.Go(func() {
			for n := range in {
				back <- n
			}
		})
	}
	for out.n.Load() < bytes {
		time.Sleep(10 * time.Millisecond)
	}
	ended.Store(true)
	all.Wait()
	trace.Stop()
	return f.Name(), out.n.Load()
}

// resident runs a program and returns the most memory that it had resident. What wait4 tells includes what this process had when
// it began the other.
func resident(t *testing.T, cmd *exec.Cmd) (most int64) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // it is gone at the end
		if m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); m != nil {
			kib, _ := strconv.ParseInt(string(m[1]), 10, 64)
			most = max(most, kib<<10)
		}
		select {
		case err := <-ended:
			if err != nil || most == 0 {
				t.Fatalf("%v: %s", err, &out)
			}
			return most
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestGoTrace_Long imports a Go execution trace of 100 MB in less memory than it has bytes, and loads it in less than twice that. It
// draws the first picture of one of 66 MB in ten seconds while another processor is busy.
func TestGoTrace_Long(t *testing.T) {
	if !effort.Full {
		t.Skip("GRANARY_FULL takes half a minute to record traces")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "granary")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	long, size := longTrace(t, 100<<20)
	for _, test := range []struct {
		args  []string
		times int64 // the bound
	}{
		{[]string{"history", "import", "-o", filepath.Join(dir, "long.history")}, 1},
		// A store has its histories in memory, at 2 bytes an interval: this trace has an interval for each 3 bytes.
		{[]string{"history", "load", "--db", filepath.Join(dir, "states.db")}, 2},
		{[]string{"load", "--db", filepath.Join(dir, "both.db")}, 2},
	} {
		cmd := exec.Command(program, append(test.args, long)...)
		most := resident(t, cmd)
		if t.Logf("%q of %d bytes takes %d bytes of memory and %v of a processor", test.args, size, most, cmd.ProcessState.UserTime()); most > test.times*size {
			t.Errorf("%q of %d bytes takes %d bytes of memory", test.args, size, most)
		}
	}
	first, size := longTrace(t, 66_000_000)
	var busy sync.WaitGroup
	var ended atomic.Bool
	busy.Go(func() {
		for !ended.Load() {
		}
	})
	begin := time.Now()
	cmd := exec.Command(program, "history", "plot", "-o", filepath.Join(dir, "long.svg"), first)
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	ended.Store(true)
	busy.Wait()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if t.Logf("the picture of %d bytes is there after %v", size, took); took > 10*time.Second {
		t.Errorf("the first picture of %d bytes takes %v", size, took)
	}
}

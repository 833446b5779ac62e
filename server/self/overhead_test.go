//go:build unix

package self

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

var (
	overheadRuns  = flag.Int("overhead.runs", 0, "measure the cost of profiling a busy program by this number of groups of four runs")
	overheadUnits = flag.Int("overhead.units", 2000, "the work of a run")
)

// processorTime returns the CPU time of the process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // RUSAGE_SELF cannot fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busy is a program that inserts profiles into a store of its own, which compacts, asks it, and hands
// small jobs to other goroutines, about 10,000 changes of state a second; 1,000 goroutines wait.
func busy(t *testing.T, data [][]byte, units int) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	jobs, answers, end := make(chan []byte), make(chan uint32), make(chan struct{})
	var idle, workers sync.WaitGroup
	for range 1000 {
		idle.Go(func() { <-end })
	}
	for range 16 {
		idle.Go(func() {
			for job := range jobs {
				answers <- crc32.ChecksumIEEE(job)
			}
		})
	}
	job := make([]byte, 4<<10)
	start := time.Now()
	for worker := range 2 {
		workers.Go(func() {
			for i := worker; i < units; i += 2 {
				labels := map[string]string{"pod": fmt.Sprint(i % 50)}
				at := start.Add(time.Duration(i) * time.Millisecond)
				if _, err := db.InsertEncoded(t.Context(), data[i%len(data)], profile.InsertOptions{Labels: labels, Time: at}); err != nil {
					t.Error(err)
				}
				for range 10 {
					jobs <- job
					<-answers
				}
				if i%50 == worker {
					askTop(t, db)
				}
			}
		})
	}
	workers.Wait()
	close(jobs)
	close(end)
	idle.Wait()
}

func askTop(t *testing.T, db *profile.DB) {
	err := db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(t.Context(), snap, "cpu")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(t.Context(), snap, cpu, profile.Query{})
		if err == nil && len(stacks.Top()) == 0 {
			t.Error("no functions")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestOverhead measures the CPU time of a busy program with and without Profile, by groups of four runs: without,
// with, with, without. The end of a run inserts what there is, so there are more profiles a second than by default.
func TestOverhead(t *testing.T) {
	if *overheadRuns == 0 {
		t.Skip("it takes minutes: -overhead.runs 9")
	}
	var data [][]byte
	for _, name := range []string{"cpu-1", "cpu-2", "cpu-3"} {
		encoded, err := os.ReadFile("../../testdata/profiles/etcd/" + name + ".pb.gz")
		if err != nil {
			t.Fatal(err)
		}
		p, err := pb.ParseData(encoded)
		if err != nil {
			t.Fatal(err)
		}
		p.TimeNanos = 0 // each insert has its own
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		data = append(data, out.Bytes())
	}
	busy(t, data, 100)
	for _, states := range []bool{false, true} {
		var ratios []float64
		var without, with time.Duration
		for range *overheadRuns {
			a1, b1 := overheadRun(t, data, false, states), overheadRun(t, data, true, states)
			b2, a2 := overheadRun(t, data, true, states), overheadRun(t, data, false, states)
			ratios = append(ratios, float64(b1+b2)/float64(a1+a2))
			without, with = without+a1+a2, with+b1+b2
		}
		slices.Sort(ratios)
		median, most := ratios[len(ratios)/2], 1.02
		if states {
			most = 1.10
		}
		t.Logf("states %v: the median of the ratios is %.3f, of %.3f; CPU time %v without, %v with", states, median, ratios, without, with)
		if median > most {
			t.Errorf("states %v: a busy program takes %.3f times the CPU time, at most %.2f", states, median, most)
		}
	}
}

// overheadRun returns the CPU time of a run: with Profile from behind its first insert to its end, which inserts
// once more.
func overheadRun(t *testing.T, data [][]byte, on, states bool) time.Duration {
	t.Helper()
	stop := func() {}
	if on {
		stop = startProfile(t, states)
	}
	runtime.GC()
	before, begin := processorTime(), time.Now()
	busy(t, data, *overheadUnits)
	stop()
	took := processorTime() - before
	t.Logf("with %v, states %v: CPU time %v in %v", on, states, took, time.Since(begin))
	return took
}

// startProfile starts Profile with its defaults. What it returns ends it.
func startProfile(t *testing.T, states bool) (stop func()) {
	t.Helper()
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Notify: func(err error) { t.Errorf("told: %v", err) }}
	if states {
		if opts.States, err = store.CreateHistory("self", columnstore.HistoryOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Profile(ctx, store, opts) }()
	for store.Stats().Rows == 0 {
		time.Sleep(time.Millisecond)
	}
	return func() {
		cancel()
		if err := errors.Join(<-done, store.Close()); err != nil {
			t.Error(err)
		}
	}
}

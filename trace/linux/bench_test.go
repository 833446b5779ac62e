package linux

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/granarydb/granary/trace"
)

// switchLines returns n lines as perf script prints switches between some threads of 8 CPUs.
func switchLines(n int) []byte {
	var b bytes.Buffer
	running := [8]int{}
	for i := range n {
		cpu := i * 5 % 8
		prev, next := running[cpu], (i*7%97)*8+cpu
		running[cpu] = next
		fmt.Fprintf(&b, "%16s %5d [%03d] %6d.%09d:       sched:sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=%s next_pid=%d next_prio=120\n",
			name(prev, cpu), prev, cpu, 1000+i/500_000, i%500_000*2000, name(prev, cpu), prev, []string{"S", "R", "R+", "D"}[i%4], name(next, cpu), next)
	}
	return b.Bytes()
}

func name(tid, cpu int) string {
	if tid == 0 {
		return fmt.Sprintf("swapper/%d", cpu)
	}
	return fmt.Sprintf("worker-%d", tid)
}

// cpuTime returns the process's time of processors, which other processes do not change, where the system tells it.
var cpuTime = func(b *testing.B) time.Duration { return b.Elapsed() }

// benchmarkLines imports text with a number of lines, and reports them per second of one processor.
func benchmarkLines(b *testing.B, text []byte) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		_, err := trace.Build(func(to trace.Target) error {
			_, err := Options{}.Import(b.Context(), bytes.NewReader(text), to)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	lines := b.N * bytes.Count(text, []byte("\n"))
	b.ReportMetric(float64(lines)/(cpuTime(b)-start).Seconds(), "lines/cpu-s")
}

// BenchmarkPerf imports the lines of switches.
func BenchmarkPerf(b *testing.B) { benchmarkLines(b, switchLines(500_000)) }

// BenchmarkLTTng imports the recorded events.
func BenchmarkLTTng(b *testing.B) { benchmarkLines(b, printed(b, "many-threads")) }

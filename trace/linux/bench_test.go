package linux

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/granarydb/granary/trace"
)

// switches are the lines that perf script prints for switches between some threads of 8 CPUs, made as they are read.
type switches struct {
	lines   int // yet to come
	i       int
	running [8]int
	text    bytes.Buffer
}

// Read implements io.Reader.
func (s *switches) Read(p []byte) (int, error) {
	for ; s.text.Len() < len(p) && s.lines > 0; s.lines-- {
		i, cpu := s.i, s.i*5%8
		s.i++
		prev, next := s.running[cpu], (i*7%97)*8+cpu
		s.running[cpu] = next
		fmt.Fprintf(&s.text, "%16s %5d [%03d] %6d.%09d:       sched:sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=%s next_pid=%d next_prio=120\n",
			name(prev, cpu), prev, cpu, 1000+i/500_000, i%500_000*2000, name(prev, cpu), prev, []string{"S", "R", "R+", "D"}[i%4], name(next, cpu), next)
	}
	return s.text.Read(p)
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
func BenchmarkPerf(b *testing.B) {
	text, err := io.ReadAll(&switches{lines: 500_000})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkLines(b, text)
}

// BenchmarkLTTng imports the recorded events.
func BenchmarkLTTng(b *testing.B) { benchmarkLines(b, printed(b, "many-threads")) }

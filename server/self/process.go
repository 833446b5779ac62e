package self

import (
	"bytes"
	"context"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"sync/atomic"
	"time"
)

// process gives access to the profiled process. Tests use a fake.
type process struct {
	now      func() time.Time
	wait     func(ctx context.Context, d time.Duration) // also returns when ctx ends
	startCPU func(w io.Writer) error
	stopCPU  func()
	// lookup returns a function that writes the profile called name as pprof, or nil if there is none.
	lookup func(name string) func(w io.Writer) error
	record func(trace.FlightRecorderConfig) (recorder, error)
}

// recorder is a running flight recorder.
type recorder interface {
	WriteTo(w io.Writer) (int64, error)
	Stop()
}

// thisProcess returns the process that the caller is in.
func thisProcess() process {
	return process{
		now: time.Now,
		wait: func(ctx context.Context, d time.Duration) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		},
		startCPU: pprof.StartCPUProfile,
		stopCPU:  pprof.StopCPUProfile,
		lookup: func(name string) func(w io.Writer) error {
			if p := pprof.Lookup(name); p != nil {
				return func(w io.Writer) error { return p.WriteTo(w, 0) }
			}
			return nil
		},
		record: func(cfg trace.FlightRecorderConfig) (recorder, error) {
			r := trace.NewFlightRecorder(cfg)
			return r, r.Start()
		},
	}
}

// cpuProfile is a running CPU profile. Its bytes are complete once it has ended.
type cpuProfile struct {
	data  bytes.Buffer
	ended atomic.Bool // set by Write: runtime/pprof writes only when the profile stops, even if other code stopped it
}

func (c *cpuProfile) Write(p []byte) (int, error) {
	c.ended.Store(true)
	return c.data.Write(p)
}

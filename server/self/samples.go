package self

import (
	"context"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/trace/golang"
)

// samplePeriod is the time between CPU samples of runtime/pprof, in nanoseconds of CPU time.
const samplePeriod = 10_000_000

// insertSamples inserts the CPU samples in a window, as a profile for each time range with its own codes.
func (s *states) insertSamples(ctx context.Context, tx *columnstore.Tx) error {
	s.opts.Labels[profile.NameLabel] = "goroutine_cpu"
	for rest := s.samples; len(rest) > 0; {
		codes, err := s.db.Table().Codes(rest[0].At)
		if err != nil {
			return err
		}
		_, to := codes.Range()
		n := slices.IndexFunc(rest, func(x golang.Sampled) bool { return x.At > to })
		if n < 0 {
			n = len(rest)
		}
		p, times := sampleProfile(rest[:n])
		if _, err := s.db.InsertTx(ctx, tx, p, profile.InsertOptions{Labels: s.opts.Labels, SampleTimes: times}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// sampleProfile makes a profile from samples, and returns the time of each.
func sampleProfile(samples []golang.Sampled) (*pprof.Profile, []int64) {
	b := sampleBuilder{
		p: &pprof.Profile{
			SampleType: []*pprof.ValueType{{Type: "oncpu", Unit: "nanoseconds"}},
			PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: samplePeriod, TimeNanos: samples[0].At,
		},
		functions: map[golang.StackFrame]*pprof.Function{}, locations: map[golang.StackFrame]*pprof.Location{},
	}
	times := make([]int64, len(samples))
	for i, sample := range samples {
		times[i] = sample.At
		labels := map[string][]int64{}
		if sample.Goroutine != golang.NoGoroutine {
			labels["goid"] = []int64{sample.Goroutine}
		}
		if sample.Place >= 0 {
			labels["track"] = []int64{int64(sample.Place)}
		}
		stack := make([]*pprof.Location, len(sample.Stack))
		for i, f := range sample.Stack {
			stack[i] = b.location(f)
		}
		b.p.Sample = append(b.p.Sample, &pprof.Sample{Location: stack, Value: []int64{samplePeriod}, NumLabel: labels})
	}
	return b.p, times
}

type sampleBuilder struct {
	p         *pprof.Profile
	functions map[golang.StackFrame]*pprof.Function // without PC and line
	locations map[golang.StackFrame]*pprof.Location
}

func (b *sampleBuilder) location(f golang.StackFrame) *pprof.Location {
	l := b.locations[f]
	if l == nil {
		l = &pprof.Location{ID: uint64(len(b.p.Location)) + 1, Address: f.PC, Line: []pprof.Line{{Function: b.function(f), Line: f.Line}}}
		b.p.Location, b.locations[f] = append(b.p.Location, l), l
	}
	return l
}

func (b *sampleBuilder) function(f golang.StackFrame) *pprof.Function {
	f.PC, f.Line = 0, 0
	fn := b.functions[f]
	if fn == nil {
		fn = &pprof.Function{ID: uint64(len(b.p.Function)) + 1, Name: f.Func, SystemName: f.Func, Filename: f.File}
		b.p.Function, b.functions[f] = append(b.p.Function, fn), fn
	}
	return fn
}

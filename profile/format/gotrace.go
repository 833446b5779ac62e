package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/trace/golang"
)

// goSamplePeriod is the time that a CPU sample of an execution trace stands for, in nanoseconds: runtime/pprof takes a
// hundred a second of CPU time.
const goSamplePeriod = 10_000_000

// goSamples bounds the samples of a profile that is made of a trace.
const goSamples = 10_000

// wholeBytes is what a trace of Go 1.11 to 1.21 takes, however short it is.
const wholeBytes = 40 << 20

// decodeGoTrace returns the CPU samples of a Go execution trace, as GoSamples does. A trace that breaks off is refused.
func decodeGoTrace(data []byte, h Hints) iter.Seq2[Decoded, error] {
	data, err := inflated(data, h.Limits)
	if err == nil && golang.IsWhole(data) && h.Take != nil {
		err = h.Take(wholeBytes)
	}
	if err != nil {
		return failed(err)
	}
	return func(yield func(Decoded, error) bool) {
		for p, err := range GoSamples(bytes.NewReader(data), h.Limits) {
			if broken := errors.As(err, new(*BrokenError)); !yield(p, err) || broken {
				return
			}
		}
	}
}

// BrokenError says at which fault a Go execution trace ends, as that of a killed program does.
type BrokenError struct{ Err error }

func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap returns profile.ErrProfile and the fault.
func (e *BrokenError) Unwrap() []error { return []error{profile.ErrProfile, e.Err} }

// GoSamples reads a Go execution trace as a stream, and returns profiles of its CPU samples (OfGoSamples), at least one.
// A trace that was recorded without a CPU profile has none. The samples of a trace that breaks off come before a
// *BrokenError, which is the last element, as other errors are: those of golang.Reader.Next with profile.ErrProfile, and
// profile.ErrTooLarge for a stack beyond the limits.
func GoSamples(r io.Reader, limits profile.Limits) iter.Seq2[Decoded, error] {
	limits = limits.WithDefaults()
	return func(yield func(Decoded, error) bool) {
		in, err := golang.NewReader(r, int64(limits.Bytes))
		if err != nil {
			yield(Decoded{}, goError(err))
			return
		}
		var some []golang.Sampled
		yielded, total, events := false, 0, 0
		flush := func() bool {
			yielded = true
			_, isDated := in.Clock()
			p := OfGoSamples(some, isDated)
			some = some[:0]
			return yield(p, nil)
		}
		for {
			ev, err := in.Next()
			if err == nil {
				events++
			}
			switch {
			case errors.Is(err, io.EOF) && events == 0:
				yield(Decoded{}, goError(golang.ErrEmpty))
				return
			case errors.Is(err, io.EOF):
				if (len(some) > 0 || !yielded) && !flush() {
					return
				}
				if broken := in.Broken(); broken != nil {
					yield(Decoded{}, &BrokenError{broken})
				}
				return
			case err != nil:
				yield(Decoded{}, goError(err))
				return
			case ev.Kind != golang.Sample:
				continue
			case len(ev.Stack) > limits.Depth:
				yield(Decoded{}, fmt.Errorf("%w: a stack of more than %d functions", profile.ErrTooLarge, limits.Depth))
				return
			}
			if total++; total > limits.Samples {
				yield(Decoded{}, fmt.Errorf("%w: more than %d samples", profile.ErrTooLarge, limits.Samples))
				return
			}
			clock, isDated := in.Clock()
			if !isDated {
				clock.Trace = in.Begin()
			}
			some = append(some, golang.Sampled{At: ev.Time - clock.Trace + clock.Unix, Goroutine: ev.ID, Place: -1, Stack: ev.Stack})
			if len(some) == goSamples && !flush() {
				return
			}
		}
	}
}

// goError makes an error of a reader one of a profile.
func goError(err error) error {
	if errors.Is(err, golang.ErrLimit) {
		return fmt.Errorf("%w: %w", profile.ErrTooLarge, err)
	}
	if errors.Is(err, golang.ErrFormat) {
		return fmt.Errorf("%w: %w", profile.ErrProfile, err)
	}
	return err
}

// OfGoSamples returns CPU samples of a Go execution trace, in the order of time, as a profile: samples in count, and cpu in
// nanoseconds, 10 ms each. Each sample has its own time, and the label goid, the number of its goroutine, and track, its place
// (golang.Sampled), if it has them. Times that are not dates count from InsertOptions.Time.
func OfGoSamples(samples []golang.Sampled, areDated bool) Decoded {
	b := goBuilder{
		places: newPlaces(&pprof.Profile{SampleType: typesOf("samples", "count", "cpu", "nanoseconds"), PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: goSamplePeriod}),
		stacks: map[*golang.StackFrame][]*pprof.Location{},
	}
	out := Decoded{Parsed: b.to, SampleTimes: make([]int64, len(samples)), isUndated: !areDated}
	for i, s := range samples {
		out.SampleTimes[i] = s.At
		labels := map[string][]int64{}
		if s.Goroutine != golang.NoGoroutine {
			labels["goid"] = []int64{s.Goroutine}
		}
		if s.Place >= 0 {
			labels["track"] = []int64{int64(s.Place)}
		}
		b.to.Sample = append(b.to.Sample, &pprof.Sample{Location: b.stack(s.Stack), Value: []int64{1, goSamplePeriod}, NumLabel: labels})
	}
	return out
}

// goBuilder makes a profile of samples. Samples with one stack share its locations.
type goBuilder struct {
	places
	stacks map[*golang.StackFrame][]*pprof.Location
}

func (b *goBuilder) stack(frames []golang.StackFrame) []*pprof.Location {
	if len(frames) == 0 {
		return nil
	}
	stack := b.stacks[&frames[0]]
	if stack == nil {
		stack = make([]*pprof.Location, len(frames))
		for i, f := range frames {
			stack[i] = b.location(&stackFrame{function: f.Func, file: f.File, line: f.Line, address: f.PC})
		}
		b.stacks[&frames[0]] = stack
	}
	return stack
}

// insertTimed inserts a profile whose samples have times: as one for each time range with its own codes.
func (p *Decoded) insertTimed(ctx context.Context, db *profile.DB, tx *columnstore.Tx, opts profile.InsertOptions) (rows int, err error) {
	times := p.SampleTimes
	if p.isUndated {
		if opts.Time.IsZero() {
			return 0, fmt.Errorf("%w: it has no time, and InsertOptions.Time is not set", profile.ErrProfile)
		}
		times = slices.Clone(times)
		for i := range times {
			times[i] += opts.Time.UnixNano()
		}
	}
	for from := 0; from < len(times); {
		codes, err := db.Table().Codes(times[from])
		if err != nil {
			return 0, err
		}
		_, last := codes.Range()
		to := len(times)
		if n := slices.IndexFunc(times[from:], func(t int64) bool { return t > last }); n >= 0 {
			to = from + n
		}
		whole := p.Parsed
		part := &pprof.Profile{
			SampleType: whole.SampleType, PeriodType: whole.PeriodType, Period: whole.Period, TimeNanos: times[from],
			Sample: whole.Sample[from:to], Location: whole.Location, Function: whole.Function,
		}
		opts.SampleTimes = times[from:to]
		n, err := db.InsertTx(ctx, tx, part, opts)
		if err != nil {
			return 0, err
		}
		rows, from = rows+n, to
	}
	return rows, nil
}

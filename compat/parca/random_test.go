package parca_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/pprof/profile"
)

// base is the time of random profiles.
var base = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)

// randomProfile returns an encoded profile: of processor time with a duration, or of a heap without one.
// Times are few, so that profiles meet. Some locations have several lines, no line, or no mapping.
func randomProfile(r *rand.Rand) []byte {
	p := &profile.Profile{
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000 * int64(1+r.IntN(2)),
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DurationNanos: int64(time.Second) * int64(1+r.IntN(10)),
	}
	if r.IntN(3) == 0 {
		p.PeriodType, p.DurationNanos = &profile.ValueType{Type: "space", Unit: "bytes"}, 0
		p.SampleType = []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}
	}
	p.TimeNanos = base.Add(time.Duration(r.IntN(60)*10) * time.Second).UnixNano()
	for i := range 3 {
		p.Mapping = append(p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: uint64(i+1) << 20, Limit: uint64(i+2) << 20, File: fmt.Sprintf("/bin/%d", i), BuildID: fmt.Sprintf("b%d", i)})
	}
	for i := range 12 {
		p.Function = append(p.Function, &profile.Function{
			ID: uint64(i + 1), Name: fmt.Sprintf("main.f%d", i), SystemName: fmt.Sprintf("_f%d", i), Filename: fmt.Sprintf("f%d.go", i%4), StartLine: int64(i),
		})
	}
	for i := range 30 {
		l := &profile.Location{ID: uint64(i + 1), Address: uint64(i) * 0x1fff}
		if i%5 > 0 {
			l.Mapping = p.Mapping[i%3]
		}
		for j := range i % 4 {
			l.Line = append(l.Line, profile.Line{Function: p.Function[(i+j)%12], Line: int64(100 * j)})
		}
		p.Location = append(p.Location, l)
	}
	for range 1 + r.IntN(40) {
		sample := &profile.Sample{Value: []int64{r.Int64N(5), r.Int64N(1 << 40)}}
		for range r.IntN(8) {
			sample.Location = append(sample.Location, p.Location[r.IntN(len(p.Location))])
		}
		p.Sample = append(p.Sample, sample)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

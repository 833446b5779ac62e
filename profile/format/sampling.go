package format

import (
	"time"

	pprof "github.com/google/pprof/profile"
)

// Sampling says what the numbers of a format without types of its own count: folded stacks, lines, tries and trees. The zero value
// says samples.
type Sampling struct {
	// Units are what is counted, by a name of Pyroscope's API: samples, objects, bytes, goroutines, lock_samples or
	// lock_nanoseconds. Other names and "" mean samples.
	Units string
	// Rate is the number of samples in a second of CPU time. Samples become CPU time then, because rates differ from sender to
	// sender. 0 is unknown.
	Rate int64
}

// countTypes are the sample types for units other than samples.
var countTypes = map[string]pprof.ValueType{
	"objects": {Type: "objects", Unit: "count"}, "bytes": {Type: "bytes", Unit: "bytes"}, "goroutines": {Type: "goroutines", Unit: "count"},
	"lock_samples": {Type: "contentions", Unit: "count"}, "lock_nanoseconds": {Type: "delay", Unit: "nanoseconds"},
}

// counted returns the decoder of a format whose numbers are Hints.Sampling.
func counted(parse func(data []byte, h Hints) (*pprof.Profile, error)) func(data []byte, h Hints) (*pprof.Profile, error) {
	return func(data []byte, h Hints) (*pprof.Profile, error) {
		p, err := parse(data, h)
		if err != nil {
			return nil, err
		}
		return p, h.Sampling.convert(p)
	}
}

// convert gives a profile of samples its type.
func (c Sampling) convert(p *pprof.Profile) error {
	if of, ok := countTypes[c.Units]; ok {
		*p.SampleType[0] = of
		return nil
	}
	if c.Rate <= 0 || c.Rate > int64(time.Second) {
		return nil
	}
	p.Period = int64(time.Second) / c.Rate
	*p.SampleType[0] = pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p.PeriodType = &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	for _, s := range p.Sample {
		var err error
		if s.Value[0], err = scaled(s.Value[0], p.Period); err != nil {
			return err
		}
	}
	return nil
}

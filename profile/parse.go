package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
)

// Errors of profiles that come in.
var (
	// ErrProfile says that bytes are not a pprof profile, or that a profile
	// contradicts itself.
	ErrProfile = errors.New("not a valid pprof profile")
	// ErrTooLarge says that a profile is beyond a limit.
	ErrTooLarge = errors.New("profile is too large")
)

// Limits bounds what a profile may hold. A field that is 0 means its default.
type Limits struct {
	// Bytes is the size of the encoded profile, decompressed.
	// Default 64 MiB: the largest heap profiles in the field have a few.
	Bytes int
	// Samples is the number of samples. Default 1,000,000.
	Samples int
	// Depth is the number of locations of a sample. Default 16,384, also the
	// most that the store takes.
	Depth int
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Samples == 0 {
		l.Samples = 1_000_000
	}
	if l.Depth == 0 {
		l.Depth = 16 << 10
	}
	return l
}

// Parse decodes a pprof profile, gzipped or not. It reads at most
// limits.Bytes of it decompressed. Errors wrap ErrProfile or ErrTooLarge.
func Parse(data []byte, limits Limits) (*pprof.Profile, error) {
	limits = limits.withDefaults()
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrProfile)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var err error
		if data, err = gunzip(data, limits.Bytes); err != nil {
			return nil, err
		}
	}
	if len(data) > limits.Bytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limits.Bytes)
	}
	p, err := pprof.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, limits.check(p)
}

func gunzip(data []byte, most int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", ErrProfile, err)
	}
	return out, nil
}

// check holds a decoded profile to the limits and to what rows need.
func (l Limits) check(p *pprof.Profile) error {
	if len(p.Sample) > l.Samples {
		return fmt.Errorf("%w: %d samples, at most %d", ErrTooLarge, len(p.Sample), l.Samples)
	}
	if err := p.CheckValid(); err != nil {
		return fmt.Errorf("%w: %w", ErrProfile, err)
	}
	if len(p.SampleType) == 0 {
		return fmt.Errorf("%w: it has no sample types", ErrProfile)
	}
	for i, t := range p.SampleType {
		for _, u := range p.SampleType[:i] {
			if *t == *u {
				return fmt.Errorf("%w: it has the sample type %s:%s twice", ErrProfile, t.Type, t.Unit)
			}
		}
	}
	for i, s := range p.Sample {
		if len(s.Location) > l.Depth {
			return fmt.Errorf("%w: sample %d has a stack of %d, at most %d", ErrTooLarge, i, len(s.Location), l.Depth)
		}
	}
	return nil
}

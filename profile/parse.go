package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	pprof "github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/schema"
)

// Errors of profiles that come in.
var (
	// ErrProfile says that bytes are not a pprof profile, or that a profile
	// contradicts itself.
	ErrProfile = errors.New("not a valid pprof profile")
	// ErrTooLarge says that a profile is beyond a limit.
	ErrTooLarge = errors.New("profile is too large")
)

// A profile shares strings and locations, rows do not: what it expands to is
// bounded as well. The largest profiles in the field need a tenth of these.
const (
	// maxStackIDs bounds the locations of all samples together, 16 bytes each.
	maxStackIDs = 16 << 20
	// maxRecords bounds the bytes of all location records.
	maxRecords = 256 << 20
	// maxLabelBytes bounds the bytes of the labels of all rows.
	maxLabelBytes = 256 << 20
	// maxLabelCells bounds rows times distinct labels, 16 bytes each.
	maxLabelCells = 16 << 20
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
	if err != nil && looksLikeText(data) {
		return nil, fmt.Errorf("%w: it is text (a URL of net/http/pprof must not have debug=1)", ErrProfile)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, limits.check(p)
}

// looksLikeText tells a page or a listing from damaged bytes, for the message.
func looksLikeText(data []byte) bool {
	for _, b := range data[:min(len(data), 256)] {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' {
			return false
		}
	}
	return true
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
	if p == nil || slices.Contains(p.SampleType, nil) {
		return fmt.Errorf("%w: it or one of its sample types is nil", ErrProfile)
	}
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
	return checkExpanded(p)
}

// checkExpanded bounds what the rows of a profile will need, before any of it
// is made.
func checkExpanded(p *pprof.Profile) error {
	var ids, records, labels int
	names := map[string]int{} // the most values in one sample
	for _, s := range p.Sample {
		ids += len(s.Location)
		for name, values := range s.Label {
			names["s"+name] = max(names["s"+name], len(values))
			for _, v := range values {
				labels += len(name) + len(v)
			}
		}
		for name, values := range s.NumLabel {
			names["n"+name] = max(names["n"+name], len(values))
			labels += (len(name) + 16) * len(values)
		}
	}
	for _, l := range p.Location {
		record := 64
		for _, ln := range l.Line {
			record += 32
			if f := ln.Function; f != nil {
				record += len(f.Name) + len(f.SystemName) + len(f.Filename)
			}
		}
		if record > schema.MaxRecord {
			return fmt.Errorf("%w: the names at address %#x have %d bytes, at most %d", ErrTooLarge, l.Address, record, schema.MaxRecord)
		}
		records += record
	}
	columns := 0
	for name, n := range names {
		if n > maxValues {
			return fmt.Errorf("%w: label %q has %d values in one sample, at most %d", ErrTooLarge, name[1:], n, maxValues)
		}
		columns += n
	}
	rows := len(p.Sample) * len(p.SampleType)
	for _, c := range []struct {
		what       string
		have, most int
	}{
		{"locations in all stacks", ids, maxStackIDs},
		{"bytes of location names", records, maxRecords},
		{"bytes of labels", labels * len(p.SampleType), maxLabelBytes},
		{"distinct labels", columns, schema.MaxDynamic},
		{"labels times rows", columns * rows, maxLabelCells},
	} {
		if c.have > c.most {
			return fmt.Errorf("%w: %d %s, at most %d", ErrTooLarge, c.have, c.what, c.most)
		}
	}
	return nil
}

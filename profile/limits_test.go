package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/internal/rows"
	codec "github.com/granarydb/granary/profile/pprof"
)

// limitCase is a profile whose size is n in the unit of one limit. The numbers are literal: they
// do not move with the limit.
type limitCase struct {
	name  string
	limit int
	less  int // so much below the limit the profile is accepted
	make  func(n int) message
}

// times adds n equal entries.
func (m message) times(n int, field uint64, data string) message {
	return append(m, strings.Repeat(message{}.bytes(field, data).string(), n)...)
}

// table returns a case of entries of a table, whose ids are 1 to n. The table can have entries
// of its own.
func table(name string, field uint64) limitCase {
	return limitCase{name, 1 << 20, 8, func(n int) message {
		m := smallest()
		for i := range n {
			m = m.bytes(field, message{}.number(1, uint64(i+2)).string())
		}
		return m
	}}
}

func decoderLimits() []limitCase {
	sample := func(parts ...string) string { return strings.Join(parts, "") }
	packed := func(field uint64, n int) string { return message{}.bytes(field, strings.Repeat("\x01", n)).string() }
	const label = "\x1a\x04\x08\x01\x10\x01"
	return []limitCase{
		{"samples", 1_000_000, 0, func(n int) message { return smallest().times(n, fieldSample, atOne+oneValue) }},
		{"depth", 16 << 10, 0, func(n int) message { return smallest().times(1, fieldSample, sample(packed(1, n), oneValue)) }},
		{"stacks", 16 << 20, 0, func(n int) message {
			const depth = 16 << 10
			return smallest().times(n/depth, fieldSample, sample(packed(1, depth), oneValue)).times(n%depth, fieldSample, atOne+oneValue)
		}},
		{"labels", 6 << 20, 0, func(n int) message {
			const labels = 64
			return smallest().times(n/labels, fieldSample, sample(atOne, oneValue, strings.Repeat(label, labels))).times(n%labels, fieldSample, atOne+oneValue+label)
		}},
		{"values", 8 << 20 >> 6, 0, func(n int) message { // in samples of 64
			return typed(64).times(n, fieldSample, sample(atOne, packed(2, 64)))
		}},
		{"names of types", 64 << 10, 0, func(n int) message {
			return message{}.bytes(fieldString, "").bytes(fieldString, strings.Repeat("a", n/2)).bytes(fieldString, strings.Repeat("b", n-n/2)).
				number2(fieldSampleType, 1, 0).number2(fieldSampleType, 2, 0)
		}},
		table("mappings", fieldMapping),
		table("functions", fieldFunction),
		table("locations", fieldLocation),
		{"strings", 1 << 20, 8, func(n int) message { return smallest().times(n, fieldString, "x") }},
		{"lines", 1 << 20, 8, func(n int) message {
			m, line := smallest(), "\x22\x02\x08\x01"
			for i := range n >> 10 {
				m = m.bytes(fieldLocation, message{}.number(1, uint64(i+3)).string()+strings.Repeat(line, 1<<10))
			}
			return m.bytes(fieldLocation, message{}.number(1, 2).string()+strings.Repeat(line, n%(1<<10)))
		}},
		{"types", 1 << 20, -1, func(n int) message { // n types have equal names
			return message{}.bytes(fieldString, "").times(n, fieldSampleType, "")
		}},
	}
}

func rowLimits() []limitCase {
	long := strings.Repeat("x", 1<<15)
	return []limitCase{
		{"records", 128 << 20 >> 15, 16, func(n int) message { // of 32 KiB and a few bytes
			m := smallest().bytes(fieldString, long).bytes(fieldFunction, message{}.number(1, 2).number(2, 2).string())
			for i := range n {
				m = m.bytes(fieldLocation, message{}.number(1, uint64(i+2)).bytes(4, "\x08\x02").string())
			}
			return m
		}},
		{"bytes of labels", 256 << 20 >> 15, 8, func(n int) message { // of 32 KiB and a few bytes
			return smallest().bytes(fieldString, long).times(n, fieldSample, atOne+oneValue+"\x1a\x04\x08\x01\x10\x02")
		}},
		{"bytes of labels of all rows", 256 << 20 >> 19, 8, func(n int) message { // of 16 rows
			m := typed(16).bytes(fieldString, long)
			return m.times(n, fieldSample, atOne+message{}.bytes(2, strings.Repeat("\x01", 16)).string()+"\x1a\x04\x08\x01\x10\x11")
		}},
		{"label values", 8 << 20 >> 6, 0, func(n int) message { // in rows of 64
			m := smallest().times(1, fieldSample, atOne+oneValue+strings.Repeat("\x1a\x04\x08\x01\x10\x01", 64))
			return m.times(n-1, fieldSample, atOne+oneValue)
		}},
	}
}

// P5: a profile just above a limit is refused, for whichever limit. One just below is not.
func TestJustAboveEachLimit(t *testing.T) {
	effort.Slow(t)
	limits := Limits{}.WithDefaults()
	for _, tc := range append(decoderLimits(), rowLimits()...) {
		t.Run(tc.name, func(t *testing.T) {
			var f rows.Profile
			if err := decode(tc.make(tc.limit+1).string(), limits, &f); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%d of at most %d: %v", tc.limit+1, tc.limit, err)
			}
			if tc.less < 0 {
				return
			}
			f.Reset()
			if err := decode(tc.make(tc.limit-tc.less).string(), limits, &f); err != nil {
				t.Errorf("%d of at most %d: %v", tc.limit-tc.less, tc.limit, err)
			}
		})
	}
}

// P5: so is one of too many bytes, which are no profile either.
func TestJustAboveTheBytes(t *testing.T) {
	effort.Long(t)
	for n, want := range map[int]error{64 << 20: ErrProfile, 64<<20 + 1: ErrTooLarge} {
		var r codec.Reader
		if err := r.Read(gzipped.Of(t, make([]byte, n)), Limits{}.WithDefaults(), new(codec.Flat)); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// P5: so is one in memory, whose samples share their slices.
func TestJustAboveEachLimitInMemory(t *testing.T) {
	in := func(types, samples int, of func(p *pprof.Profile) *pprof.Sample) *pprof.Profile {
		p := makeProfile(start, "n:count", stack{frames: "f", values: []int64{1}})
		for i := range types - 1 {
			p.SampleType = append(p.SampleType, &pprof.ValueType{Type: strings.Repeat("x", i+1)})
		}
		s := of(p)
		p.Sample = p.Sample[:0]
		for range samples {
			p.Sample = append(p.Sample, s)
		}
		return p
	}
	deep := func(depth int) func(p *pprof.Profile) *pprof.Sample {
		return func(p *pprof.Profile) *pprof.Sample {
			s := &pprof.Sample{Value: []int64{1}}
			for range depth {
				s.Location = append(s.Location, p.Location[0])
			}
			return s
		}
	}
	for name, p := range map[string]*pprof.Profile{
		"samples": in(1, 1_000_001, deep(1)),
		"depth":   in(1, 1, deep(16<<10+1)),
		"stacks":  in(1, 1<<10+1, deep(16<<10)),
		"values": in(64, 8<<20>>6+1, func(p *pprof.Profile) *pprof.Sample {
			return &pprof.Sample{Value: make([]int64, 64), Location: p.Location}
		}),
		"labels": in(1, 6<<20>>6+1, func(p *pprof.Profile) *pprof.Sample {
			s := &pprof.Sample{Value: []int64{1}, Location: p.Location, Label: map[string][]string{}}
			for i := range 64 {
				s.Label[fmt.Sprint("k", i)] = []string{"v"}
			}
			return s
		}),
		"lines": in(1, 1, func(p *pprof.Profile) *pprof.Sample {
			p.Location[0].Line = slices.Repeat(p.Location[0].Line, 1<<10)
			for i := range 1 << 10 {
				l := *p.Location[0]
				l.ID, l.Address = uint64(i+2), uint64(i)
				p.Location = append(p.Location, &l)
			}
			return p.Sample[0]
		}),
	} {
		if err := flatten(p, Limits{}.WithDefaults(), new(rows.Profile)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

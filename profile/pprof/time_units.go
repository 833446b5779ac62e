package pprof

import (
	"math"
	"slices"
)

const nanoseconds = "nanoseconds"

// inNanoseconds has the nanoseconds of each unit of time, by the spellings of profilers. go tool pprof
// treats the same spellings as one unit.
var inNanoseconds = map[string]int64{
	nanoseconds: 1, "nanosecond": 1, "ns": 1,
	"microseconds": 1e3, "microsecond": 1e3, "us": 1e3, "µs": 1e3,
	"milliseconds": 1e6, "millisecond": 1e6, "ms": 1e6,
	"seconds": 1e9, "second": 1e9, "sec": 1e9, "s": 1e9,
}

// ToNanoseconds converts times among the values, and the period, to nanoseconds, so that values of the
// same quantity add up whatever each profile's unit. It is exact. Times whose conversion would overflow
// keep their unit, and so do types that would become equal to another type of the profile.
func (f *Flat) ToNanoseconds() {
	for i, t := range f.Types {
		if factor := inNanoseconds[f.Strings[t.Unit]]; f.Strings[t.Unit] != nanoseconds && factor != 0 && !f.hasType(t.Name, nanoseconds) && f.scale(i, factor) {
			f.Types[i].Unit = f.stringIndex(nanoseconds)
		}
	}
	unit := f.Strings[f.Period.Unit]
	if factor := inNanoseconds[unit]; unit != nanoseconds && factor != 0 && fits(f.Every, factor) {
		f.Every *= factor
		f.Period.Unit = f.stringIndex(nanoseconds)
	}
}

// samples has the names of sample types by other spellings of theirs, which agents for .NET use.
var samples = map[string]string{"inuse-space": "inuse_space", "inuse-objects": "inuse_objects"}

// KnownSample returns the name of a sample type for another spelling of it, and other names as they are.
func KnownSample(name string) string {
	if known, ok := samples[name]; ok {
		return known
	}
	return name
}

// ToKnownTypes replaces other spellings of sample types, because values of the same quantity add up whatever agent names it.
// Types that would become equal to another type of the profile keep theirs.
func (f *Flat) ToKnownTypes() {
	for i, t := range f.Types {
		if known := KnownSample(f.Strings[t.Name]); known != f.Strings[t.Name] {
			if at := f.stringIndex(known); !f.hasType(at, f.Strings[t.Unit]) {
				f.Types[i].Name = at
			}
		}
	}
	f.Preferred = KnownSample(f.Preferred)
}

// hasType reports whether f has a sample type with the name at index name and the unit.
func (f *Flat) hasType(name uint32, unit string) bool {
	return slices.ContainsFunc(f.Types, func(t FlatType) bool {
		return f.Strings[t.Name] == f.Strings[name] && f.Strings[t.Unit] == unit
	})
}

// scale multiplies the values of type i. It returns false and changes nothing if a value would overflow.
func (f *Flat) scale(i int, factor int64) bool {
	for at := i; at < len(f.Values); at += len(f.Types) {
		if !fits(f.Values[at], factor) {
			return false
		}
	}
	for at := i; at < len(f.Values); at += len(f.Types) {
		f.Values[at] *= factor
	}
	return true
}

// fits reports whether a product with a positive factor fits in 64 bits.
func fits(v, factor int64) bool {
	return v <= math.MaxInt64/factor && v >= math.MinInt64/factor
}

// stringIndex returns a text's index, and adds the text if it is new.
func (f *Flat) stringIndex(text string) uint32 {
	i := slices.Index(f.Strings, text)
	if i < 0 {
		i = len(f.Strings)
		f.Strings = append(f.Strings, text)
	}
	return uint32(i)
}

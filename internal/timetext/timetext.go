// Package timetext reads times and durations as people write them, and writes durations. Flags, parameters of
// URLs and cells of files share this grammar:
//
//	now, latest          now, or the time of the newest profile
//	now-1h, latest-1h    an hour before
//	-1h, 1h              an hour before now
//	1769850000           a Unix time: of 10 digits in seconds, with or without a fraction, 13 in milliseconds,
//	                     16 in microseconds, 19 in nanoseconds
//	2026-01-31           a date, or one with a time of day (T or a space between, with or without seconds and fractions)
//	                     and with or without a zone: RFC 3339, or the zone of the reader
//
// A duration has numbers with the units ns, us, ms, s, m, h, d (24 hours) and w (7 days), which add up: 1d12h, 1.5s.
//
// # Invariants
//
//	T1  Times count from the newest profile if their text says latest, and never otherwise.
//	T2  A text has one meaning, or is an error: bytes after a time are an error, and nothing overflows.
package timetext

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Base is the instant that a time counts from.
type Base int

// The bases.
const (
	Unix   Base = iota // 1970, for a fixed time
	Now                // the instant of the query
	Latest             // the newest profile
)

// Time is a parsed time.
type Time struct {
	Base  Base
	Nanos int64 // since 1970; for other bases, the time before the base
}

// At returns the time in Unix nanoseconds. base is the instant that t.Base means; At ignores it for Unix. A
// time before the first of 64 bits becomes the first.
func (t Time) At(base int64) int64 {
	switch {
	case t.Base == Unix:
		return t.Nanos
	case base < math.MinInt64+t.Nanos:
		return math.MinInt64
	}
	return base - t.Nanos
}

// Parse reads a time. zone applies to dates without a zone. Parse returns false if text is not a time, or if
// the time exceeds 64 bits of nanoseconds.
func Parse(text string, zone *time.Location) (Time, bool) {
	for name, base := range map[string]Base{"now": Now, "latest": Latest} {
		if rest, ok := strings.CutPrefix(text, name); ok {
			if rest == "" {
				return Time{Base: base}, true
			}
			rest, ok = strings.CutPrefix(rest, "-")
			d, isDuration := Duration(rest)
			return Time{base, int64(d)}, ok && isDuration
		}
	}
	if d, ok := Duration(strings.TrimPrefix(text, "-")); ok {
		return Time{Now, int64(d)}, true
	}
	if nanos, ok := number(text); ok {
		return Time{Unix, nanos}, true
	}
	at, ok := Date(text, zone)
	if !ok || at.Before(time.Unix(0, math.MinInt64)) || at.After(time.Unix(0, math.MaxInt64)) {
		return Time{}, false
	}
	return Time{Unix, at.UnixNano()}, true
}

// number reads a Unix time. The number of its digits gives the unit.
func number(text string) (nanos int64, ok bool) {
	whole, fraction, hasFraction := strings.Cut(text, ".")
	if hasFraction && (len(whole) != 10 || fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		return 0, false
	}
	text = whole
	unit, known := map[int]time.Duration{10: time.Second, 13: time.Millisecond, 16: time.Microsecond, 19: time.Nanosecond}[len(text)]
	if !known || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return 0, false
	}
	return n*int64(unit) + int64(part(fraction, unit)), true
}

// Date reads a date, with or without a time of day and a zone.
func Date(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// units are the units of durations. If text can begin with two of them, the longer comes first.
var units = []struct {
	name string
	of   time.Duration
}{
	{"ns", time.Nanosecond},
	{"us", time.Microsecond},
	{"µs", time.Microsecond},
	{"μs", time.Microsecond},
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
	{"w", 7 * 24 * time.Hour},
}

// Duration reads a duration of 0 or more, without a sign. It returns false for other text, and for a duration
// that exceeds 64 bits of nanoseconds.
func Duration(text string) (sum time.Duration, ok bool) {
	if text == "0" {
		return 0, true
	}
	for ok = text != ""; ok && text != ""; {
		var d time.Duration
		if d, text, ok = component(text); ok {
			sum += d
			ok = sum >= 0 // both terms were at least 0: a negative sum has overflowed
		}
	}
	return sum, ok
}

// Text formats a number of nanoseconds without trailing zero units: 1m, not 1m0s. Duration reads the text, unless
// the number exceeds 63 bits: it is then rounded to four digits.
func Text(nanos uint64) string {
	if nanos > math.MaxInt64 {
		return fmt.Sprintf("%.4gs", float64(nanos)/1e9)
	}
	text := time.Duration(nanos).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// component reads the first number of a duration, and its unit. It ignores digits below a nanosecond.
func component(text string) (d time.Duration, rest string, ok bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 1 {
		return 0, "", false
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	if err != nil {
		return 0, "", false
	}
	rest, fraction := text[end:], ""
	if after, has := strings.CutPrefix(rest, "."); has {
		end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if end < 1 {
			return 0, "", false
		}
		fraction, rest = after[:end], after[end:]
	}
	for _, u := range units {
		if after, has := strings.CutPrefix(rest, u.name); has {
			if n > math.MaxInt64/int64(u.of) {
				return 0, "", false
			}
			d = time.Duration(n)*u.of + part(fraction, u.of)
			return d, after, d >= 0
		}
	}
	return 0, "", false
}

// part returns the fraction of a unit that digits after the point give.
func part(digits string, unit time.Duration) time.Duration {
	const most = 18 // most digits that fit in 64 bits
	digits = digits[:min(len(digits), most)]
	n, scale := uint64(0), uint64(1)
	for _, c := range []byte(digits) {
		n, scale = 10*n+uint64(c-'0'), 10*scale
	}
	hi, lo := bits.Mul64(n, uint64(unit))
	whole, _ := bits.Div64(hi, lo, scale) // n is below scale, therefore hi is too
	return time.Duration(whole)
}

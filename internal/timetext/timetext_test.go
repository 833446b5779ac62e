package timetext_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/granarydb/granary/internal/timetext"
)

func TestParse(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	hour, noon := int64(time.Hour), time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).UnixNano()
	at := func(nanos int64) *timetext.Time { return &timetext.Time{Nanos: nanos} }
	for text, want := range map[string]*timetext.Time{
		"now": {Base: timetext.Now}, "now-1h": {timetext.Now, hour}, "-1h": {timetext.Now, hour}, "1h": {timetext.Now, hour},
		"latest": {Base: timetext.Latest}, "latest-1h30m": {timetext.Latest, hour + hour/2}, "-1d12h": {timetext.Now, 36 * hour}, "-0": {Base: timetext.Now},
		"1769860800": at(noon), "1769860800000": at(noon), "1769860800000000": at(noon), "1769860800000000000": at(noon),
		"1769860800.5": at(noon + 5e8), "1769860800.0000000019": at(noon + 1), "1769860800.": nil, "1769860800000.5": nil, "17698608.5": nil,
		"9223372036854775807": at(math.MaxInt64), "9223372036854775808": nil, "9999999999999999": nil, "176986080": nil, "+176986080": nil, "-176986080": nil,
		"2026-01-31T12:00:00Z": at(noon), "2026-01-31T14:00:00+02:00": at(noon), "2026-01-31 12:00:00Z": at(noon),
		"2026-01-31T14:00:00": at(noon), "2026-01-31 14:00:00": at(noon), "2026-01-31T14:00": at(noon), "2026-01-31 14:00": at(noon),
		"2026-01-31": at(noon - 14*hour), "2026-01-31T12:00:00.5Z": at(noon + 5e8), "1677-01-01": nil, "2263-01-01": nil, "1969-12-31T23:00:00Z": at(-hour),
		"": nil, "-": nil, "now-": nil, "now+1h": nil, "nowhere": nil, "latest1h": nil, "--1h": nil, "now--1h": nil, "yesterday": nil, "1": nil, "2026-01-31T": nil, " now": nil,
	} {
		got, ok := timetext.Parse(text, zone)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, ok, want)
		}
	}
}

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "1ns": 1, "2us": 2000, "2µs": 2000, "2μs": 2000, "3ms": 3e6, "4s": 4e9, "5m": 5 * time.Minute, "6h": 6 * time.Hour, "7d": 7 * day, "2w": 14 * day,
		"1d12h": 36 * time.Hour, "1h1h": 2 * time.Hour, "1.5s": 1500 * time.Millisecond, "0.1d": 144 * time.Minute, "1.0000000009s": 1e9, "1m0.25s": 60250 * time.Millisecond,
		"9223372036854775807ns": math.MaxInt64, "0.3333333333333333333333s": 333333333,
		"": -1, "1": -1, "-1h": -1, "+1h": -1, ".5s": -1, "1.s": -1, "s": -1, "1x": -1, "1h ": -1, "1 h": -1, "1M": -1,
		"9223372036854775808ns": -1, "15251w": -1, "9223372036s1s": -1, "106752d": -1, "99999999999999999999s": -1,
	} {
		if got, ok := timetext.Duration(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
		}
	}
}

// TestTime_At counts from a base, and not beyond the least time.
func TestTime_At(t *testing.T) {
	for _, tt := range []struct {
		at         timetext.Time
		base, want int64
	}{
		{timetext.Time{Nanos: 5}, 100, 5}, {timetext.Time{Base: timetext.Now, Nanos: 5}, 100, 95}, {timetext.Time{Base: timetext.Latest, Nanos: math.MaxInt64}, -2, math.MinInt64},
	} {
		if got := tt.at.At(tt.base); got != tt.want {
			t.Errorf("%+v from %d: %d, want %d", tt.at, tt.base, got, tt.want)
		}
	}
}

// FuzzParse holds durations to those of package time, and times to their text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"now-1h", "latest", "1.5h30m", "2026-01-31T12:00:00Z", "1769860800", "7d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := timetext.Parse(text, time.UTC); ok && at.Base != timetext.Unix && at.Nanos < 0 {
			t.Fatalf("%q: %+v", text, at)
		}
		got, ok := timetext.Duration(text)
		want, err := time.ParseDuration(text)
		isOurs := strings.ContainsAny(text, "dw") || strings.ContainsAny(text, "+-")
		if !isOurs && ok && (err != nil || got-want > 10 || want-got > 10) {
			t.Fatalf("%q: %v, and %v, %v", text, got, want, err)
		}
	})
}

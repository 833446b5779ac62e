package profile

import (
	"math"
	"testing"
)

func TestFormatValue(t *testing.T) {
	for _, tc := range []struct {
		value int64
		unit  string
		want  string
	}{
		{0, "nanoseconds", "0 ns"},
		{999, "nanoseconds", "999 ns"},
		{1_000, "nanoseconds", "1 us"},
		{1_230, "nanoseconds", "1.23 us"},
		{12_345_678, "nanoseconds", "12.3 ms"},
		{1_234_567_890, "nanoseconds", "1.23 s"},
		{-1_234_567_890, "nanoseconds", "-1.23 s"},
		{90_000_000_000, "nanoseconds", "1.5 min"},
		{5_400_000_000_000, "nanoseconds", "1.5 h"},
		{math.MaxInt64, "nanoseconds", "2,562,048 h"},
		{math.MinInt64, "nanoseconds", "-2,562,048 h"},
		// Rounding carries into the next unit.
		{999_499, "nanoseconds", "999 us"},
		{999_500, "nanoseconds", "1 ms"},
		{59_940_000_000, "nanoseconds", "59.9 s"},
		{59_950_000_001, "nanoseconds", "1 min"},
		{9_996_000_000, "nanoseconds", "10 s"},
		{1_500, "microseconds", "1.5 ms"},
		{1_500, "milliseconds", "1.5 s"},
		{150, "seconds", "2.5 min"},
		{math.MaxInt64, "seconds", "2,562,047,788,015,216 h"},

		{0, "bytes", "0 B"},
		{1023, "bytes", "1,023 B"},
		{1024, "bytes", "1 KiB"},
		{4_718_592, "bytes", "4.5 MiB"},
		{1<<20 - 1, "bytes", "1 MiB"},
		{3 << 30, "bytes", "3 GiB"},
		{-3 << 40, "bytes", "-3 TiB"},
		{math.MaxInt64, "bytes", "8,192 PiB"},

		{0, "count", "0"},
		{999, "count", "999"},
		{1_234, "count", "1,234"},
		{-123_456, "count", "-123,456"},
		{-1_234_567, "count", "-1,234,567"},
		{math.MinInt64, "count", "-9,223,372,036,854,775,808"},

		{1_234, "widgets", "1,234 widgets"},
		{1_234, "", "1,234"},
	} {
		if got := FormatValue(tc.value, tc.unit); got != tc.want {
			t.Errorf("FormatValue(%d, %q) = %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
}

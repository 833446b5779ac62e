package cli

import (
	"testing"
	"time"
)

// Durations have days and weeks, and no sign. What is printed of one can be given again.
func TestDurationFlag(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "2w": 14 * day, "1d12h": 36 * time.Hour, "90m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond, "100us": 100 * time.Microsecond,
		"": 0, "0": 0, "-1h": 0, "+1h": 0, "30": 0, "1M": 0, "5 m": 0, "99999999d": 0,
	} {
		var got, again time.Duration
		value := NewDuration("step", 1, 0, &got)
		err := value.Set(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
		if err == nil && (NewDuration("step", 1, 0, &again).Set(value.String()) != nil || again != want) {
			t.Errorf("%q is printed as %q, which is %v", text, value, again)
		}
	}
	none := time.Hour
	value := NewDuration("retention", 0, 0, &none)
	if err := value.Set("0"); err != nil || none != 0 || value.String() != "" {
		t.Errorf("0: %v, %q, %v", none, value, err)
	}
	none = 30*day + 90*time.Minute
	if got := value.String(); got != "30d1h30m" {
		t.Errorf("the text is %q", got)
	}
}

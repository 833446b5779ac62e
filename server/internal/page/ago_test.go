package page

import (
	"testing"
	"time"
)

// TestParseAgo: durations as the page writes them.
func TestParseAgo(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"-1h": time.Hour, "-7d": 7 * day, "-1d5m": day + 5*time.Minute, "-0s": 0, "-1d12h30m": day + 12*time.Hour + 30*time.Minute,
		"-65535d": 65535 * day, "-65536d": -1, "1h": -1, "-": -1, "-d": -1, "-1d-5m": -1, "-1d1d": -1, "--1h": -1, "-x": -1, "-60000d2000000h": -1,
	} {
		if got, ok := parseAgo(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %v, %t", text, got, ok)
		}
	}
}

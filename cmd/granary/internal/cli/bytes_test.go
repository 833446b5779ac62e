package cli

import "testing"

// Bytes have a unit or none, and are neither too few nor more than there can be.
func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"100": 100, "100B": 100, "2KiB": 2048, "3 kB": 3000, "16MiB": 16 << 20, "2GB": 2e9, "1TiB": 1 << 40,
		"": 0, "99": 0, "-5MiB": 0, "MiB": 0, "1.5GiB": 0, "16mib": 0, "9999999999GiB": 0, "99999999999999999999": 0, "1MiBB": 0,
	} {
		var got int64
		err := NewBytes("disk-budget", 100, &got).Set(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}

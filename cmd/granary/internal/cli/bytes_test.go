package cli

import "testing"

// TestBytes parses sizes, and prints them as they are read again.
func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "17B": 17, "1KiB": 1 << 10, "512MiB": 512 << 20, "4GiB": 4 << 30, "3TiB": 3 << 40} {
		var n, again int64
		v := NewBytes("memory", &n)
		if err := v.Set(text); err != nil || n != want {
			t.Errorf("%s is %d, %v, want %d", text, n, err, want)
		}
		if n == 0 {
			continue
		}
		if err := NewBytes("memory", &again).Set(v.String()); err != nil || again != n {
			t.Errorf("%s prints as %s, which is %d, %v", text, v, again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "1gb", "1 GiB", "1KB", "9000000TiB", "9223372036854775808", "1BiK", "1GiBGiB"} {
		n := int64(7)
		if err := NewBytes("memory", &n).Set(text); err == nil || !isUsage(err) || n != 7 {
			t.Errorf("%q is %d, %v, want a usage error", text, n, err)
		}
	}
}

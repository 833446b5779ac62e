package linux

import "testing"

// TestScan reads numbers, times and text as tracers write them.
func TestScan(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "17": 17, "-100": -100, "0x1F": 31, "0X1f": 31, "0400002": 0o400002, "007": 7, "-0x10": -16, "922337203685477579": 922337203685477579,
	} {
		if n, ok := integer([]byte(text)); n != want || !ok {
			t.Errorf("%s is %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "x", "0x", "08", "1.5", "1 ", "--1", "99999999999999999999", "0xffffffffffffffff", "0777777777777777777777777"} {
		if n, ok := integer([]byte(text)); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
	for text, want := range map[string]int64{
		"0.0": 0, "1.5": 1.5e9, "1000.000001": 1000_000_001_000, "-1.25": -1.25e9, "12.0000000019": 12_000_000_001,
		"9223372035.999999999": 9223372035_999_999_999,
	} {
		if ns, ok := seconds([]byte(text)); ns != want || !ok {
			t.Errorf("%s s is %d ns, %v", text, ns, ok)
		}
	}
	for _, text := range []string{"", ".", "1", "1.", ".5", "1.x", "1.5x", "9223372036.0", "99999999999999999999.0"} {
		if ns, ok := seconds([]byte(text)); ok {
			t.Errorf("%q s is %d ns", text, ns)
		}
	}
	for text, want := range map[string]string{
		`"a"`: "a", `""`: "", `"a\"b\\c\n\x01\xff"`: "a\"b\\c\n\x01\xff", `"é\t"`: "é\t", `"\q"`: `\q`, `a`: "a", `"`: `"`, `"\`: `"\`,
	} {
		if got := string(unquote([]byte(text))); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

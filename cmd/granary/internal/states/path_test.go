package states

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
)

// Names are in natural order, and the order is total.
func TestCompareNames(t *testing.T) {
	names := []string{"", "-1", "0", "0_1", "0_10", "01", "1", "9", "10", "a", "a1", "a1b", "a01c", "a2", "a10", "a10a", "b"}
	for i, a := range names {
		for k, b := range names {
			if got, want := compareNames(a, b), max(-1, min(1, i-k)); got != want {
				t.Errorf("%q and %q: %d, want %d", a, b, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.SampledFrom([]rune("019ab-")))
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if compareNames(a, b) != -compareNames(b, a) || compareNames(a, b) == 0 && a != b {
			t.Fatalf("%q and %q", a, b)
		}
		if compareNames(a, b) < 0 && compareNames(b, c) < 0 && compareNames(a, c) >= 0 {
			t.Fatalf("%q < %q < %q", a, b, c)
		}
	})
}

// All forms of times, in a history from 1,000 ns to 2,000 ns.
func TestInstants(t *testing.T) {
	h, err := history.New(history.Options{Start: 1000})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := h.Begin()
	if err == nil {
		err = tx.Close(2000)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text    string
		want    int64
		inside  bool
		clipped int64
	}{
		{"start", 1000, true, 1000},
		{"end", 2000, true, 2000},
		{"+0s", 1000, true, 1000},
		{"end-0s", 2000, true, 2000},
		{"latest", 2000, true, 2000},
		{"latest-300ns", 1700, true, 1700},
		{"+300ns", 1300, true, 1300},
		{"start+0.3us", 1300, true, 1300},
		{"end-1µs", 1000, true, 1000},
		{"end-300ns", 1700, true, 1700},
		{"+1.001us", 2001, false, 2000},
		{"end-1.001us", 999, false, 1000},
		{"0%", 1000, true, 1000},
		{"12.5%", 1125, true, 1125},
		{"100%", 2000, true, 2000},
		{"1500", 1500, true, 1500},
		{"999", 999, false, 1000},
		{"-5", -5, false, 1000},
		{"1970-01-01T00:00:00.0000015Z", 1500, true, 1500},
		{"1970-01-01 00:00:00.0000015", 1500, true, 1500},
		{"1970-01-01T01:00:00.0000015+01:00", 1500, true, 1500},
		{"1970-01-01", 0, false, 1000},
		{"2026-01-31", 1769817600000000000, false, 2000},
		{"+60000d", math.MaxInt64, false, 2000},
	} {
		in, err := parseInstant(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		got, inside := in.in(v)
		if tc.text[len(tc.text)-1] == 'd' {
			got = tc.want // the value of a time outside the history does not matter
		}
		if clipped := in.clip(v); got != tc.want || inside != tc.inside || clipped != tc.clipped {
			t.Errorf("%q: %d, %t, clipped %d; want %+v", tc.text, got, inside, clipped, tc)
		}
	}
	for _, text := range []string{"", "+", "+1", "start-1s", "end+1s", "ended", "-1h-", "17698500000000.5s", "9999999999999", "start+", "end-", "latest+1s", "%", "-1%", "NaN%", "1e3", "9223372036854775808", "1600-01-01", "3000-01-01", "+-1s"} {
		if in, err := parseInstant(text); err == nil {
			t.Errorf("%q: %+v", text, in)
		}
	}
	for _, p := range []period{{"+1.001us", ""}, {"", "999"}, {"+500ns", "+400ns"}, {"-1h", ""}, {"2026-01-31", "2027-01-31"}} {
		if lo, hi, err := p.of(v); err == nil {
			t.Errorf("%+v: %d to %d", p, lo, hi)
		}
	}
	for _, p := range []period{{"", ""}, {"1", "3000"}, {"1970-01-01", "now"}, {"0.000001", "0.0000021"}, {"end-5us", "+5us"}, {"0%", "100%"}} {
		if lo, hi, err := p.of(v); err != nil || lo != 1000 || hi != 2000 {
			t.Errorf("%+v: %d to %d, %v", p, lo, hi, err)
		}
	}
}

// A time before the end can be an argument.
func TestTimeBeforeTheEnd(t *testing.T) {
	inSet(t)
	want := granary(t, "history", "at", "run", "CPUs/0", "+9.8s").stdout
	for _, args := range [][]string{
		{"run", "CPUs/0", "latest-200ms"}, {"run", "CPUs/0", "end-0.2s"}, {"run", "CPUs/0", "end-200ms"}, {"run", "CPUs/0", "98%"},
	} {
		if r := granary(t, append([]string{"history", "at"}, args...)...); r.code != cli.ExitOK || r.stdout != want {
			t.Errorf("%q: %+v, want\n%s", args, r, want)
		}
	}
}

package faultclock_test

import (
	"testing"
	"time"

	"github.com/granarydb/granary/internal/faultclock"
)

// TestSet: times of a clock that was set are what they claim to be.
func TestSet(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{-faultclock.Year, -time.Hour, 0, time.Hour, faultclock.Year} {
		at := faultclock.Set(now, by)
		if at.Sub(now) != 0 || !at.Round(0).Equal(now.Round(0).Add(by)) || at.UnixNano() != now.UnixNano()+int64(by) {
			t.Errorf("by %s: %s, %s later", by, at, at.Sub(now))
		}
	}
}

// TestClock reads a clock with each fault from its third reading on.
func TestClock(t *testing.T) {
	begin := time.Date(2026, 11, 3, 9, 30, 30, 0, time.UTC)
	for _, fault := range faultclock.Faults {
		c := faultclock.New(begin, fault, 3)
		first := c.Now()
		for n := 2; n < 200; n++ {
			right := begin.Add(time.Duration(n) * time.Microsecond)
			isWrong := n >= 3 && (fault.Readings == 0 || n < 3+fault.Readings)
			want, passed := right, right.Sub(begin)-time.Microsecond
			switch {
			case isWrong && fault.Stands:
				want, passed = begin.Add(2*time.Microsecond), time.Microsecond
			case isWrong:
				want = right.Add(fault.Shift)
				if !fault.IsSet() {
					passed += fault.Shift
				}
			}
			if at := c.Now(); at.UnixNano() != want.UnixNano() || at.Sub(first) != passed {
				t.Errorf("%s, reading %d: %s, %s later", fault.Name, n, at, at.Sub(first))
			}
		}
		c.Move(time.Hour)
		c.Heal()
		if at := c.Now(); at.UnixNano() != begin.Add(time.Hour+time.Microsecond).UnixNano() || len(c.Seen()) != 1 || c.Readings() != 200 {
			t.Errorf("%s: %s at last, %d seen, %d readings", fault.Name, at, len(c.Seen()), c.Readings())
		}
	}
}

package columnstore

import (
	"fmt"
	"math"
	"time"
)

// timeLimits are the times that rows may have, in Unix nanoseconds, by the clock (FutureLimit,
// PastLimit).
type timeLimits struct{ now, earliest, latest int64 }

// year1980 is the earliest time by default: no profile is older.
var year1980 = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

func (s *Store) timeLimits() timeLimits {
	now := s.opts.Now().UnixNano()
	l := timeLimits{now, math.MinInt64, math.MaxInt64}
	if latest := now + int64(s.opts.FutureLimit); s.opts.FutureLimit >= 0 && latest >= now { // not beyond int64
		l.latest = latest
	}
	switch earliest := now - int64(s.opts.PastLimit); {
	case s.opts.PastLimit > 0 && earliest <= now:
		l.earliest = earliest
	case s.opts.PastLimit == 0 && now >= year1980:
		l.earliest = year1980
	}
	return l
}

// check returns ErrFuture or ErrPast for a time beyond the limits. what begins the text about it.
func (l *timeLimits) check(at int64, what string) error {
	switch {
	case at > l.latest:
		return fmt.Errorf("%w: %s%s, the clock is at %s", ErrFuture, what, timeText(at), timeText(l.now))
	case at >= l.earliest:
		return nil
	}
	err := fmt.Errorf("%w: %s%s, which is %d ns since 1970, the clock is at %s", ErrPast, what, timeText(at), at, timeText(l.now))
	for _, unit := range []struct {
		name string
		size int64
	}{{"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}} {
		if in := at * unit.size; in/unit.size == at && in >= l.earliest && in <= l.latest {
			return fmt.Errorf("%w: in %s it is %s, and the column has nanoseconds", err, unit.name, timeText(in))
		}
	}
	return err
}

package catalog

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Errors of TimeLimits. Package columnstore exports and documents them.
var (
	ErrFuture = errors.New("time is in the future")
	ErrPast   = errors.New("time is far in the past")
)

// TimeLimits are the first and last time that a row may have, in Unix nanoseconds, both inclusive, at the
// time Now.
type TimeLimits struct{ Now, Earliest, Latest int64 }

// Year1980 is the earliest time by default: no profile is older.
var Year1980 = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// LimitTimes returns the limits at the time now, in Unix nanoseconds, for the options FutureLimit and
// PastLimit of a store.
func LimitTimes(now int64, future, past time.Duration) TimeLimits {
	l := TimeLimits{now, math.MinInt64, math.MaxInt64}
	if latest := now + int64(future); future >= 0 && latest >= now { // without overflow
		l.Latest = latest
	}
	switch earliest := now - int64(past); {
	case past > 0 && earliest <= now:
		l.Earliest = earliest
	case past == 0 && now >= Year1980:
		l.Earliest = Year1980
	}
	return l
}

// Check returns ErrFuture or ErrPast for a time beyond the limits. The error text begins with what.
func (l *TimeLimits) Check(at int64, what string) error {
	switch {
	case at > l.Latest:
		return fmt.Errorf("%w: %s%s, the clock is at %s", ErrFuture, what, TimeText(at), TimeText(l.Now))
	case at >= l.Earliest:
		return nil
	}
	err := fmt.Errorf("%w: %s%s, which is %d ns since 1970, the clock is at %s", ErrPast, what, TimeText(at), at, TimeText(l.Now))
	for _, unit := range []struct {
		name string
		size int64
	}{{"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}} {
		if in := at * unit.size; in/unit.size == at && in >= l.Earliest && in <= l.Latest {
			return fmt.Errorf("%w: in %s it is %s, and the column has nanoseconds", err, unit.name, TimeText(in))
		}
	}
	return err
}

// TimeText returns a time in Unix nanoseconds as text.
func TimeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339Nano) }

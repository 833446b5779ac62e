package profile

import (
	"fmt"
	"time"

	codec "github.com/granarydb/granary/profile/pprof"
)

// leastTime is the least plausible time of a profile: 1980 in Unix nanoseconds. Today's time in seconds,
// milliseconds or microseconds, taken for nanoseconds, is in January 1970.
var leastTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// timeOf returns the time of a profile's rows in Unix nanoseconds. A profile without a time, or with a
// time in another unit, is ErrProfile, because its rows would be in 1970, where no query for the present
// finds them and retention drops them.
func (opts InsertOptions) timeOf(f *codec.Flat) (int64, error) {
	switch {
	case f.Time >= leastTime:
		return f.Time, nil
	case f.Time != 0:
		return 0, fmt.Errorf("%w: its time is %d, in nanoseconds %s: %s", ErrProfile, f.Time,
			time.Unix(0, f.Time).UTC().Format(time.DateOnly), timeUnit(f.Time))
	case opts.Time.IsZero():
		return 0, fmt.Errorf("%w: it has no time, and InsertOptions.Time is not set", ErrProfile)
	}
	return opts.Time.UnixNano(), nil
}

// timeUnit names the unit in which the time at is between 1980 and 2100.
func timeUnit(at int64) string {
	for _, unit := range []struct {
		name  string
		nanos time.Duration
	}{{"seconds", time.Second}, {"milliseconds", time.Millisecond}, {"microseconds", time.Microsecond}} {
		least := leastTime / int64(unit.nanos)
		if at >= least && at < 13*least {
			return "it looks like " + unit.name
		}
	}
	return "before 1980"
}

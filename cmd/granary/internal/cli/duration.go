package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/internal/timetext"
)

// NewDuration returns the value of a flag that sets *to to a duration from least, which is 0 or more, to
// most; if most is 0, there is no upper bound. Its text has the units of package timetext and no sign: 30d or
// 1h30m.
func NewDuration(flag string, least, most time.Duration, to *time.Duration) pflag.Value {
	return value[time.Duration]{to, "duration", durationText, func(text string) (time.Duration, error) {
		parsed, ok := timetext.Duration(text)
		if ok && parsed >= least && (most == 0 || parsed <= most) {
			return parsed, nil
		}
		want := ", such as 10s, 5m, 12h or 30d, or 0"
		switch {
		case most > 0:
			want = fmt.Sprintf(" from %s to %s, such as 1m or 1h30m", durationText(least), durationText(most))
		case least > 0:
			want = " above 0, such as 500us, 10s, 5m or 7d"
		}
		return 0, Usage(fmt.Errorf("--%s %q: want a duration%s", flag, text, want))
	}}
}

// durationText returns a duration in days and the units of package time, or "" for 0.
func durationText(d time.Duration) (text string) {
	const day = 24 * time.Hour
	if d >= day {
		text = strconv.FormatInt(int64(d/day), 10) + "d"
	}
	if d%day > 0 {
		text += timetext.Text(uint64(d % day))
	}
	return text
}

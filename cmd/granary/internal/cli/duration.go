package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/internal/timetext"
)

// durationFlag is the value of a flag for a duration.
type durationFlag struct {
	flag        string
	least, most time.Duration
	to          *time.Duration
}

// NewDuration returns the value of a flag that sets *to to a duration from least, which is 0 or more, to
// most; if most is 0, there is no upper bound. Its text has the units of package timetext and no sign: 30d or
// 1h30m.
func NewDuration(flag string, least, most time.Duration, to *time.Duration) pflag.Value {
	return &durationFlag{flag, least, most, to}
}

// String returns the duration in days and the units of package time, or "" for 0.
func (d *durationFlag) String() string {
	if d.to == nil {
		return ""
	}
	return durationText(*d.to)
}

func durationText(d time.Duration) (text string) {
	const day = 24 * time.Hour
	if d >= day {
		text = strconv.FormatInt(int64(d/day), 10) + "d"
	}
	if d%day > 0 {
		text += Duration(d % day)
	}
	return text
}

// Set parses a duration.
func (d *durationFlag) Set(text string) error {
	parsed, ok := timetext.Duration(text)
	if !ok || parsed < d.least || d.most > 0 && parsed > d.most {
		return Usage(fmt.Errorf("--%s %q: want a duration%s", d.flag, text, d.bounds()))
	}
	*d.to = parsed
	return nil
}

// bounds describes the allowed durations, for an error.
func (d *durationFlag) bounds() string {
	switch {
	case d.most > 0:
		return fmt.Sprintf(" from %s to %s, such as 1m or 1h30m", durationText(d.least), durationText(d.most))
	case d.least > 0:
		return " above 0, such as 500us, 10s, 5m or 7d"
	}
	return ", such as 10s, 5m, 12h or 30d, or 0"
}

// Type returns the name of the value's type.
func (d *durationFlag) Type() string { return "duration" }

package main

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/granarydb/granary/internal/timetext"
)

// duration is the value of a flag for a duration of 0 or more, which has the units of the flags of granary: 7d or 1h30m.
type duration time.Duration

// addDuration adds a flag for a duration to a set.
func addDuration(fs *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	fs.Var((*duration)(to), name, usage)
}

// String returns the duration in the units of package time, "" for none.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Set parses a duration.
func (d *duration) Set(text string) error {
	parsed, ok := timetext.Duration(text)
	if !ok {
		return errors.New("want a duration such as 15m, 1h30m or 7d")
	}
	*d = duration(parsed)
	return nil
}

// Type returns the name of the value's type.
func (*duration) Type() string { return "duration" }

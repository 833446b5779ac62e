package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/history"
)

// instant is a time as a person gives it, which may depend on the history.
type instant struct {
	text   string
	anchor byte // what it counts from: 0 none, '+' the start, '-' the end, '%' a share
	nanos  int64
	// seconds is what a plain number is if it counts seconds, in nanoseconds; the same as
	// nanos if it cannot.
	seconds int64
	share   float64 // of the history, 0 to 1
}

// secondDigits is how many decimal digits seconds are from nanoseconds.
const secondDigits = 9

// parseInstant parses a time. Its error is wrong use.
func parseInstant(text string) (instant, error) {
	in := instant{text: text}
	rest := strings.TrimPrefix(text, "start")
	if rest == text {
		rest = strings.TrimPrefix(text, "end")
	}
	switch {
	case text == "start":
		in.anchor = '+'
		return in, nil
	case text == "end":
		in.anchor = '-'
		return in, nil
	case strings.HasPrefix(rest, "+") && !strings.HasPrefix(text, "end"), strings.HasPrefix(rest, "-") && !strings.HasPrefix(text, "start"):
		if d, ok := parseAgo(rest[1:]); ok {
			in.anchor, in.nanos = rest[0], int64(d)
			return in, nil
		}
	case strings.HasSuffix(text, "%"):
		if p, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err == nil && p >= 0 && p <= 100 {
			in.anchor, in.share = '%', p/100
			return in, nil
		}
	default:
		if t, ok := parseTime(text); ok && t.Year() > 1677 && t.Year() < 2262 {
			in.nanos = t.UnixNano()
			in.seconds = in.nanos
			return in, nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	seconds, ok := scaled(text, secondDigits)
	switch {
	case err == nil && text[0] != '+':
		in.nanos, in.seconds = n, n
		if ok {
			in.seconds = seconds
		}
		return in, nil
	case ok:
		in.nanos, in.seconds = seconds, seconds
		return in, nil
	}
	return in, usageError{fmt.Errorf("time %q: want one such as 2026-01-31T09:00:00Z, Unix nanoseconds or seconds, +1.5s behind the start of the history, -200ms before its end, or 12.5%%", text)}
}

// in returns the instant in a history, and whether it is in it.
func (in instant) in(v *history.View) (int64, bool) {
	start, end := v.Start(), v.End()
	whole := uint64(end) - uint64(start)
	switch in.anchor {
	case '+':
		return start + in.nanos, uint64(in.nanos) <= whole
	case '-':
		return end - in.nanos, uint64(in.nanos) <= whole
	case '%':
		if in.share == 1 {
			return end, true
		}
		return int64(uint64(start) + uint64(math.Round(in.share*float64(whole)))), true
	}
	t := in.nanos
	if far(v, in.seconds) < far(v, t) {
		t = in.seconds
	}
	return t, far(v, t) == 0
}

// far returns how far an instant is outside of a history: 0 if it is in it.
func far(v *history.View, t int64) uint64 {
	switch {
	case t < v.Start():
		return uint64(v.Start()) - uint64(t)
	case t > v.End():
		return uint64(t) - uint64(v.End())
	}
	return 0
}

// at returns an instant that must be in the history.
func (in instant) at(v *history.View) (int64, error) {
	t, ok := in.in(v)
	if !ok {
		return 0, usageError{fmt.Errorf("time %s is outside of the history, which is from %s to %s: %s (plain numbers are Unix nanoseconds or seconds)",
			in.text, timeJSON(v.Start()), timeJSON(v.End()), offset(v, v.End()))}
	}
	return t, nil
}

// period is --from and --to.
type period struct{ from, to string }

func (p *period) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.from, "from", "", "only from `TIME` on (default: the start of the history)")
	cmd.Flags().StringVar(&p.to, "to", "", "only up to `TIME`, included (default: the end of the history)")
}

// read parses the flags.
func (p *period) read() (from, to instant, err error) {
	if from, err = parseInstant(cmp.Or(p.from, "start")); err == nil {
		to, err = parseInstant(cmp.Or(p.to, "end"))
	}
	return from, to, err
}

// of returns what the period has of a history: bounds outside of it are taken to be its
// own, unless that leaves nothing.
func (p *period) of(v *history.View) (lo, hi int64, err error) {
	from, to, err := p.read()
	if err != nil {
		return 0, 0, err
	}
	lo, hi = from.clip(v), to.clip(v)
	_, fromIn := from.in(v)
	_, toIn := to.in(v)
	if lo > hi || !fromIn && lo == v.End() || !toIn && hi == v.Start() {
		return 0, 0, usageError{fmt.Errorf("from %s to %s there is nothing of the history, which is from %s to %s: %s",
			from.text, to.text, timeJSON(v.Start()), timeJSON(v.End()), offset(v, v.End()))}
	}
	return lo, hi, nil
}

// clip returns the instant of a history that is nearest.
func (in instant) clip(v *history.View) int64 {
	t, ok := in.in(v)
	switch {
	case ok:
		return t
	case in.anchor == '+', in.anchor == 0 && t > v.End():
		return v.End()
	default:
		return v.Start()
	}
}

// offset prints an instant as it can be asked for: how long behind the start it is.
func offset(v *history.View, t int64) string { return "+" + lasting(uint64(t)-uint64(v.Start())) }

// lasting prints a number of nanoseconds.
func lasting(nanos uint64) string {
	if nanos > math.MaxInt64 {
		return fmt.Sprintf("%.4gs", float64(nanos)/1e9)
	}
	return duration(time.Duration(nanos))
}

// agoFlags lets a time before the end, -200ms, stand where an argument does: the parser of
// flags takes it for a flag -2 with the value 00ms.
func agoFlags(cmd *cobra.Command, text *string) {
	for digit := '0'; digit <= '9'; digit++ {
		f := agoFlag{string(digit), text}
		name := "minus-" + f.digit
		cmd.Flags().VarP(f, name, f.digit, "")
		cmd.Flags().Lookup(name).Hidden = true
	}
}

type agoFlag struct {
	digit string
	text  *string
}

// String, Set and Type make it a flag's value.
func (a agoFlag) String() string { return "" }

// Set takes what follows the digit.
func (a agoFlag) Set(text string) error {
	*a.text = "-" + a.digit + text
	return nil
}

// Type names the kind of value.
func (a agoFlag) Type() string { return "time" }

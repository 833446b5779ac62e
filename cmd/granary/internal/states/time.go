package states

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// instant is a time from the command line. Its value may depend on the history.
type instant struct {
	text   string
	anchor byte // 0: absolute, '+': from the start, '-': from the end, '%': a share
	nanos  int64
	// seconds is the value in nanoseconds of a plain number of seconds. It equals nanos if the
	// text cannot be a number of seconds.
	seconds int64
	share   float64 // of the history, 0 to 1
}

// secondDigits is the number of decimal digits between seconds and nanoseconds.
const secondDigits = 9

// parseInstant parses a time. Its error is a usage error.
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
		if d, ok := cli.ParseAgo(rest[1:]); ok {
			in.anchor, in.nanos = rest[0], int64(d)
			return in, nil
		}
	case strings.HasSuffix(text, "%"):
		if p, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err == nil && p >= 0 && p <= 100 {
			in.anchor, in.share = '%', p/100
			return in, nil
		}
	default:
		if t, ok := trace.ParseTime(text); ok && t.Year() > 1677 && t.Year() < 2262 {
			in.nanos = t.UnixNano()
			in.seconds = in.nanos
			return in, nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	seconds, ok := trace.ParseDecimal(text, secondDigits)
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
	return in, cli.Usage(fmt.Errorf("time %q: want one such as 2026-01-31T09:00:00Z, Unix nanoseconds or seconds, +1.5s after the start of the history, -200ms before its end, or 12.5%%", text))
}

// in returns the instant as a time of a history and reports whether the history contains it.
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

// far returns the distance of an instant from a history, 0 if the history contains it.
func far(v *history.View, t int64) uint64 {
	switch {
	case t < v.Start():
		return uint64(v.Start()) - uint64(t)
	case t > v.End():
		return uint64(t) - uint64(v.End())
	}
	return 0
}

// at returns the instant as a time of a history, or a usage error if the history does not
// contain it.
func (in instant) at(v *history.View) (int64, error) {
	t, ok := in.in(v)
	if !ok {
		return 0, cli.Usage(fmt.Errorf("time %s is outside the history, which is from %s to %s: %s (plain numbers are Unix nanoseconds or seconds)",
			in.text, cli.TimeJSON(v.Start()), cli.TimeJSON(v.End()), offset(v, v.End())))
	}
	return t, nil
}

// period holds --from and --to.
type period struct{ from, to string }

func (p *period) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.from, "from", "", "start at `TIME`, included (default: the start of the history)")
	cmd.Flags().StringVar(&p.to, "to", "", "end at `TIME`, included (default: the end of the history)")
}

// read parses the flags.
func (p *period) read() (from, to instant, err error) {
	if from, err = parseInstant(cmp.Or(p.from, "start")); err == nil {
		to, err = parseInstant(cmp.Or(p.to, "end"))
	}
	return from, to, err
}

// of returns the part of a history that the period covers. Bounds outside the history are
// moved to its bounds. A period that does not overlap the history is a usage error.
func (p *period) of(v *history.View) (lo, hi int64, err error) {
	from, to, err := p.read()
	if err != nil {
		return 0, 0, err
	}
	lo, hi = from.clip(v), to.clip(v)
	_, fromIn := from.in(v)
	_, toIn := to.in(v)
	if lo > hi || !fromIn && lo == v.End() || !toIn && hi == v.Start() {
		return 0, 0, cli.Usage(fmt.Errorf("from %s to %s there is nothing of the history, which is from %s to %s: %s",
			from.text, to.text, cli.TimeJSON(v.Start()), cli.TimeJSON(v.End()), offset(v, v.End())))
	}
	return lo, hi, nil
}

// clip returns the nearest time of a history.
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

// offset formats an instant as an offset from the start, which parseInstant accepts.
func offset(v *history.View, t int64) string { return "+" + lasting(uint64(t)-uint64(v.Start())) }

// lasting formats a number of nanoseconds as a duration.
func lasting(nanos uint64) string {
	if nanos > math.MaxInt64 {
		return fmt.Sprintf("%.4gs", float64(nanos)/1e9)
	}
	return cli.Duration(time.Duration(nanos))
}

// agoFlags allows a time before the end, such as -200ms, as an argument. The flag parser takes
// it for the flag -2 with the value 00ms, so agoFlags adds hidden flags for the digits.
func agoFlags(cmd *cobra.Command, text *string) {
	for digit := '0'; digit <= '9'; digit++ {
		f := agoFlag{string(digit), text}
		name := "minus-" + f.digit
		cmd.Flags().VarP(f, name, f.digit, "")
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// agoFlag is the value of the hidden flag of a digit.
type agoFlag struct {
	digit string
	text  *string
}

// String returns "": the flag has no default.
func (a agoFlag) String() string { return "" }

// Set stores the time of the digit and the text after it.
func (a agoFlag) Set(text string) error {
	*a.text = "-" + a.digit + text
	return nil
}

// Type returns the name of the value's type.
func (a agoFlag) Type() string { return "time" }

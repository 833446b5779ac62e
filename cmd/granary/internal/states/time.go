package states

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/trace"
)

// bounds are the first and the last instant of a history.
type bounds interface {
	Start() int64
	End() int64
}

// instant is a time from the command line. Its value may depend on the history.
type instant struct {
	text   string
	anchor byte // 0: absolute, '+': from the start, '-': from the end, '%': a fraction of the history
	nanos  int64
	share  float64 // fraction of the history, 0 to 1
	isAgo  bool    // for an absolute time: it counts from now
}

// parseInstant parses a time relative to the history, or a time in the grammar of package timetext, in which
// "latest" is the end of the history. The error is a usage error.
func parseInstant(text string) (instant, error) {
	if in, ok := parseAnchored(text); ok {
		return in, nil
	}
	in := instant{text: text}
	if t, ok := timetext.Parse(text, time.Local); ok {
		switch t.Base {
		case timetext.Latest:
			in.anchor, in.nanos = '-', t.Nanos
		case timetext.Now:
			in.isAgo, in.nanos = true, t.At(time.Now().UnixNano())
		default:
			in.nanos = t.Nanos
		}
		return in, nil
	}
	// The clock of a history may begin at 0. Other numbers are therefore nanoseconds, or seconds if they have
	// a point.
	const secondDigits = 9 // decimal digits from seconds to nanoseconds
	digits := 0
	if strings.Contains(text, ".") {
		digits = secondDigits
	}
	if n, ok := trace.ParseDecimal(text, digits); ok && text[0] != '+' && !isUnix(text) {
		in.nanos = n
		return in, nil
	}
	return in, cli.Usage(fmt.Errorf("time %q: want one such as 2026-01-31T09:00:00Z, Unix seconds such as 1769850000, +1.5s after the start of the history, end-200ms before its end, 12.5%%, or -1h before now", text))
}

// isUnix reports whether a number has as many digits as a Unix time, although it exceeds 64 bits of
// nanoseconds.
func isUnix(text string) bool {
	return text[0] != '-' && (len(text) == 10 || len(text) == 13 || len(text) == 16)
}

// parseAnchored parses a time relative to the history, in forms that package timetext does not have.
func parseAnchored(text string) (instant, bool) {
	in := instant{text: text}
	for _, from := range []struct {
		name   string
		anchor byte
	}{{"start", '+'}, {"end", '-'}, {"", '+'}} {
		rest, ok := strings.CutPrefix(text, from.name)
		if !ok {
			continue
		}
		if in.anchor = from.anchor; rest == "" {
			return in, text != ""
		}
		d, isDuration := timetext.Duration(rest[1:])
		in.nanos = int64(d)
		if isDuration && rest[0] == from.anchor {
			return in, true
		}
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		if p, err := strconv.ParseFloat(share, 64); err == nil && p >= 0 && p <= 100 {
			return instant{text: text, anchor: '%', share: p / 100}, true
		}
	}
	return in, false
}

// in returns the instant as a time of a history, and reports whether the history contains it.
func (in instant) in(v bounds) (int64, bool) {
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
	return in.nanos, in.nanos >= start && in.nanos <= end
}

// hint suggests, for a time that counts from now, the same time from the end of the history, because most
// recordings are old.
func (in instant) hint() string {
	if !in.isAgo {
		return ""
	}
	ago := strings.TrimLeft(strings.TrimPrefix(in.text, "now"), "-")
	if ago == "" {
		return "; end is its end"
	}
	return fmt.Sprintf("; end-%s counts from its end", ago)
}

// at returns the instant as a time of a history, or a usage error if the history does not contain it.
func (in instant) at(v bounds) (int64, error) {
	t, ok := in.in(v)
	if !ok {
		return 0, cli.Usage(fmt.Errorf("time %s is outside the history, which is from %s to %s: %s%s",
			in.text, cli.TimeJSON(v.Start()), cli.TimeJSON(v.End()), offset(v, v.End()), in.hint()))
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

// of returns the part of a history that the period covers. It moves bounds outside the history to its bounds.
// A period that does not overlap the history is a usage error.
func (p *period) of(v bounds) (lo, hi int64, err error) {
	from, to, err := p.read()
	if err != nil {
		return 0, 0, err
	}
	lo, hi = from.clip(v), to.clip(v)
	_, fromIn := from.in(v)
	_, toIn := to.in(v)
	if lo > hi || !fromIn && lo == v.End() || !toIn && hi == v.Start() {
		return 0, 0, cli.Usage(fmt.Errorf("from %s to %s there is nothing of the history, which is from %s to %s: %s%s",
			from.text, to.text, cli.TimeJSON(v.Start()), cli.TimeJSON(v.End()), offset(v, v.End()), cmp.Or(from.hint(), to.hint())))
	}
	return lo, hi, nil
}

// clip returns the time of a history that is nearest to the instant.
func (in instant) clip(v bounds) int64 {
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
func offset(v bounds, t int64) string { return "+" + timetext.Text(uint64(t)-uint64(v.Start())) }

// agoFlags permits a time before now, such as -200ms, as an argument. The flag parser reads it as the flag -2
// with the value 00ms, therefore agoFlags adds hidden flags for the digits.
func agoFlags(cmd *cobra.Command, text *string) {
	for digit := '0'; digit <= '9'; digit++ {
		name := "minus-" + string(digit)
		cmd.Flags().FuncP(name, string(digit), "", func(rest string) error {
			*text = "-" + string(digit) + rest
			return nil
		})
		cmd.Flags().Lookup(name).Hidden = true
	}
}

// oneFile is the argument check of commands that take one file.
var oneFile = cli.Arguments(1, 1, "name one file")

// arguments returns an argument check for commands with these arguments. The flag parser may have read
// the last, a time, as a flag (see agoFlags).
func arguments(behind *string, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if want := len(strings.Fields(names)); len(withTime(args, *behind)) != want {
			return cli.Usage(fmt.Errorf("want %d arguments, %s, not %d", want, names, len(withTime(args, *behind))))
		}
		return nil
	}
}

// withTime returns the arguments, with the time that the parser read as a flag.
func withTime(args []string, behind string) []string {
	if behind == "" {
		return args
	}
	return append(slices.Clip(args), behind)
}

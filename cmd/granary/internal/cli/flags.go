package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/timetext"
)

// value is the value of a flag. pflag shows its text as the default, unless that is "" or 0.
type value[T any] struct {
	to    *T
	kind  string // the name of the type
	text  func(T) string
	parse func(text string) (T, error)
}

// String returns the text of the value.
func (v value[T]) String() string { return v.text(*v.to) }

// Set parses a text.
func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.to = parsed
	}
	return err
}

// Type returns the name of the type.
func (v value[T]) Type() string { return v.kind }

// NewWholeNumber returns the value of a flag that sets n to a whole number, at least `least`.
func NewWholeNumber(flag string, least int, n *int) pflag.Value {
	return value[int]{n, "int", strconv.Itoa, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err == nil && n >= least {
			return n, nil
		}
		given, want := strconv.Quote(text), "0 (all)"
		if err == nil {
			given = text
		}
		if least > 0 {
			want = strconv.Itoa(least)
		}
		return 0, Usage(fmt.Errorf("--%s %s: want a whole number, %s or more", flag, given, want))
	}}
}

// Limit is the value of the flag -n: the number of lines to show, for a command that prints a table.
type Limit struct {
	n     int
	flags []*pflag.Flag // under all names
}

// Flags adds -n with the default n. old is a former name that still works; "" means that there is none.
func (l *Limit) Flags(cmd *cobra.Command, old string, n int, usage string) {
	l.n = n
	add := func(name, short string) {
		of := NewWholeNumber(name, 0, &l.n)
		l.flags = append(l.flags, cmd.Flags().VarPF(of, name, short, usage+"; 0 shows all (default with --json: all)"))
	}
	add("limit", "n")
	if old != "" {
		add(old, "")
		l.flags[1].Hidden = true
	}
}

// Of returns the number of lines to show; 0 means all. With asJSON it returns 0 unless -n is given.
func (l *Limit) Of(asJSON bool) int {
	if asJSON && !slices.ContainsFunc(l.flags, func(f *pflag.Flag) bool { return f.Changed }) {
		return 0
	}
	return l.n
}

// NewChoice returns the value of a flag that sets *to to a word in `of`.
func NewChoice(flag string, of []string, to *string) pflag.Value {
	same := func(word string) string { return word }
	return value[string]{to, "string", same, func(text string) (string, error) {
		if !slices.Contains(of, text) {
			last := len(of) - 1
			return "", Usage(fmt.Errorf("--%s %q: want %s or %s", flag, text, strings.Join(of[:last], ", "), of[last]))
		}
		return text, nil
	}}
}

var arrowForms = []columnstore.Form{columnstore.Dictionary, columnstore.Native, columnstore.Plain}

// ArrowFormNames returns the values of --form.
func ArrowFormNames() []string {
	var names []string
	for _, form := range arrowForms {
		names = append(names, form.String())
	}
	return names
}

// ArrowForm returns the form for a value of --form. It panics on other values.
func ArrowForm(name string) columnstore.Form { return arrowForms[slices.Index(ArrowFormNames(), name)] }

// NewPixels returns the value of --width for a picture, which sets n to a number of pixels.
func NewPixels(n *int) pflag.Value { return newWidth(n, "pixels", 600, 20_000) }

// NewColumns returns the value of --width for a chart, which sets n to a number of columns.
func NewColumns(n *int) pflag.Value { return newWidth(n, "columns", MinWidth, MaxWidth) }

func newWidth(n *int, unit string, least, most int) pflag.Value {
	return value[int]{n, "int", strconv.Itoa, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, Usage(fmt.Errorf("--width %q: want a number of %s from %d to %d", text, unit, least, most))
		}
		return n, nil
	}}
}

// NewFactor returns the value of --scale, which sets f to a factor above 0.
func NewFactor(f *float64) pflag.Value {
	format := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return value[float64]{f, "float", format, func(text string) (float64, error) {
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 0) || math.IsInf(factor, 0) {
			return 0, Usage(fmt.Errorf("--scale %q: want a number above 0, such as 0.5", text))
		}
		return factor, nil
	}}
}

// byteUnits are the units of bytes. The empty unit is last, because every text ends with it.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
	{"", 1},
}

// NewBytes returns the value of a flag that sets *to to a number of bytes, at least `least`. Its text is a
// number with or without a unit, as 16MiB or 2GB.
func NewBytes(flag string, least int64, to *int64) pflag.Value {
	return value[int64]{to, "bytes", bytesText, func(text string) (int64, error) {
		for _, unit := range byteUnits {
			digits, ok := strings.CutSuffix(text, unit.name)
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
			if err != nil || n > math.MaxInt64/unit.bytes || n*unit.bytes < least {
				break
			}
			return n * unit.bytes, nil
		}
		return 0, Usage(fmt.Errorf("--%s %q: want bytes, at least %d, such as 64MiB or 2GB", flag, text, least))
	}}
}

// bytesText returns bytes in the largest binary unit that divides them, or "" for 0.
func bytesText(n int64) string {
	if n == 0 {
		return ""
	}
	name := "B"
	for i := 0; n%1024 == 0 && i < 4; i++ {
		n, name = n/1024, byteUnits[i].name
	}
	return strconv.FormatInt(n, 10) + name
}

// AddDiskBudget adds the flag --disk-budget to a command that writes the directory of --db.
func AddDiskBudget(cmd *cobra.Command, to *int64) {
	cmd.Flags().Var(NewBytes("disk-budget", 16<<20, to), "disk-budget", "keep the directory of --db within `BYTES`, such as 2GiB, and drop the oldest time ranges for that; at least 16MiB (default: no bound)")
}

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

// NewPercent returns the value of a flag that sets *to to a share from a text in percent, from 0 to most.
func NewPercent(flag string, most float64, to *float64) pflag.Value {
	format := func(f float64) string { return strconv.FormatFloat(100*f, 'g', 6, 64) + "%" }
	return value[float64]{to, "percent", format, func(text string) (float64, error) {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
		if err != nil || !(percent >= 0 && percent <= most) {
			return 0, Usage(fmt.Errorf("--%s %q: want a number of percent from 0 to %g, such as 5%%", flag, text, most))
		}
		return percent / 100, nil
	}}
}

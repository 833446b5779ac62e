package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
)

func newHistoryAt() *cobra.Command {
	var form intervalForm
	var behind string
	cmd := &cobra.Command{
		Use:   "at [flags] FILE ATTRIBUTE TIME",
		Short: "Show the state of an attribute at an instant",
		Long: `at shows the state that an attribute was in at an instant, since when, and until
when; both ends are included.

` + historyFileHelp + historyAttributeHelp + historyTimeHelp,
		Example: `  granary history at run CPUs/0 +1.5s
  granary history at run CPUs/0 -200ms
  granary history at --json run CPUs/0 50% | jq .value
  granary history at --csv run CPUs/0 50% > state.csv`,
		Args: arguments(&behind, "FILE ATTRIBUTE TIME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = withTime(args, behind)
			if err := form.check(cmd, args[0]); err != nil {
				return err
			}
			when, err := parseInstant(args[2])
			if err != nil {
				return err
			}
			l, err := openHistory(cmd, args[0])
			if err != nil {
				return err
			}
			a, err := lookup(l.Names, args[1])
			if err != nil {
				return err
			}
			t, err := when.at(l.View)
			if err != nil {
				return err
			}
			in, err := l.At(a, t)
			if err != nil {
				return err
			}
			return printState(cmd.OutOrStdout(), l, a, t, in, &form)
		},
	}
	agoFlags(cmd, &behind)
	form.printFlags(cmd)
	return cmd
}

// printState prints the answer of history at.
func printState(w io.Writer, l *loadedHistory, a history.Attribute, t int64, in history.Interval, form *intervalForm) error {
	path, err := l.Path(a)
	if err != nil {
		return err
	}
	switch form.format {
	case formatCSV:
		p, err := newIntervalPrinter(w, l, form, "", nil)
		if err != nil {
			return err
		}
		return errors.Join(p.print(a, in), p.end())
	case formatJSON:
		return printJSON(w, struct {
			Time string `json:"time"`
			intervalJSON
		}{timeJSON(t), jsonOf(pathText(path), in)})
	}
	p := printer{w: w}
	p.printf("%s at %s\n", printable(pathText(path)), whenText(l, t))
	p.printf("  value  %s\n", printable(in.Value.String()))
	p.printf("  kind   %s\n", in.Value.Kind())
	p.printf("  from   %s\n", whenText(l, in.Start))
	p.printf("  to     %s\n", whenText(l, in.End))
	p.printf("  lasts  %s\n", lasting(length(in)))
	return p.err
}

// whenText prints an instant both ways in which it can be asked for.
func whenText(l *loadedHistory, t int64) string {
	return fmt.Sprintf("%s (%s)", offset(l.View, t), timeJSON(t))
}

// arguments is cobra's check of arguments the last of which is a time, which may have been
// taken for a flag.
func arguments(behind *string, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if want := len(strings.Fields(names)); len(withTime(args, *behind)) != want {
			return usageError{fmt.Errorf("want %d arguments, %s, not %d", want, names, len(withTime(args, *behind)))}
		}
		return nil
	}
}

// withTime returns the arguments with the time that was taken for a flag.
func withTime(args []string, behind string) []string {
	if behind == "" {
		return args
	}
	return append(slices.Clip(args), behind)
}

func newHistorySlice() *cobra.Command {
	var form intervalForm
	var patterns []string
	var behind string
	var nulls bool
	cmd := &cobra.Command{
		Use:   "slice [flags] FILE TIME",
		Short: "Show the states of many attributes at an instant",
		Long: `slice shows the states that attributes were in at an instant, each with its
whole interval; both ends are included.

` + historyFileHelp + historyPatternHelp + historyTimeHelp + historyArrowHelp,
		Example: `  granary history slice run +1.5s
  granary history slice --match 'CPUs/*/Current_thread' run -200ms
  granary history slice --json run 50% | jq '.intervals[] | select(.value==2)'
  granary history slice -o states.arrows run +1.5s`,
		Args: arguments(&behind, "FILE TIME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = withTime(args, behind)
			if err := form.check(cmd, args[0]); err != nil {
				return err
			}
			when, err := parseInstant(args[1])
			if err != nil {
				return err
			}
			l, err := openHistory(cmd, args[0])
			if err != nil {
				return err
			}
			t, err := when.at(l.View)
			if err != nil {
				return err
			}
			attributes, err := match(l.Names, patterns)
			if err != nil {
				return err
			}
			if form.format == formatArrow {
				return form.writeArrow(cmd, l, !nulls, func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
					q.Attributes = attributes
					return q.Slice(ctx, t)
				})
			}
			return form.write(cmd, func(w io.Writer) error { return printSlice(w, l, t, attributes, &form, nulls) })
		},
	}
	agoFlags(cmd, &behind)
	matchFlag(cmd, &patterns)
	nullsFlag(cmd, &nulls)
	form.flags(cmd)
	return cmd
}

func nullsFlag(cmd *cobra.Command, nulls *bool) {
	cmd.Flags().BoolVar(nulls, "nulls", false, "show null too: times at which an attribute has no value")
}

func printSlice(w io.Writer, l *loadedHistory, t int64, attributes []history.Attribute, form *intervalForm, nulls bool) error {
	head := struct {
		Time       string `json:"time"`
		Attributes int    `json:"attributes"`
	}{timeJSON(t), len(attributes)}
	title := fmt.Sprintf("%s at %s", many(len(attributes), "attribute"), whenText(l, t))
	p, err := newIntervalPrinter(w, l, form, title, head)
	if err != nil {
		return err
	}
	if len(attributes) > 0 { // without one, a slice is of all
		s, err := l.Slice(t, attributes...)
		if err != nil {
			return err
		}
		for a, in := range s.All() {
			if in.Value.IsNull() && !nulls {
				continue
			}
			if err := p.print(a, in); err != nil {
				return err
			}
		}
	}
	return p.end()
}

func newHistoryRange() *cobra.Command {
	var form intervalForm
	var when period
	var every resolution
	cmd := &cobra.Command{
		Use:   "range [flags] FILE ATTRIBUTE",
		Short: "Show the states of an attribute over time",
		Long: `range shows the intervals of an attribute in the order of time, whole, also if
they begin before --from or end behind --to; both ends are included.

` + historyFileHelp + historyAttributeHelp + historyTimeHelp + historyArrowHelp,
		Example: `  granary history range run CPUs/0
  granary history range --from +2s --to 50% run CPUs/0
  granary history range --csv --resolution 10ms run CPUs/0 > cpu0.csv
  granary history range -o cpu0.arrows run CPUs/0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("want 2 arguments, FILE ATTRIBUTE, not %d", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := form.check(cmd, args[0]); err != nil {
				return err
			}
			l, from, to, err := openPeriod(cmd, args[0], &when)
			if err != nil {
				return err
			}
			a, err := lookup(l.Names, args[1])
			if err != nil {
				return err
			}
			if form.format == formatArrow {
				return form.writeArrow(cmd, l, false, func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
					q.Attributes, q.Resolution = []history.Attribute{a}, int64(every)
					return q.Range(ctx, from, to)
				})
			}
			return form.write(cmd, func(w io.Writer) error { return printRange(w, l, a, from, to, &form, int64(every)) })
		},
	}
	when.flags(cmd)
	cmd.Flags().Var(&every, "resolution", "only the intervals that hold at one of the times so far apart from --from on, or at --to: a `DURATION`")
	form.flags(cmd)
	return cmd
}

// openPeriod opens a history, and finds the bounds of a period in it.
func openPeriod(cmd *cobra.Command, name string, when *period) (l *loadedHistory, from, to int64, err error) {
	if _, _, err = when.read(); err == nil {
		l, err = openHistory(cmd, name)
	}
	if err == nil {
		from, to, err = when.of(l.View)
	}
	return l, from, to, err
}

// periodJSON is what a range is of, in JSON.
type periodJSON struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func printRange(w io.Writer, l *loadedHistory, a history.Attribute, from, to int64, form *intervalForm, every int64) error {
	path, err := l.Path(a)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s from %s to %s", printable(pathText(path)), offset(l.View, from), offset(l.View, to))
	p, err := newIntervalPrinter(w, l, form, title, periodJSON{timeJSON(from), timeJSON(to)})
	if err != nil {
		return err
	}
	for in, err := range l.Range(a, from, to, history.RangeOptions{Resolution: every}) {
		if err == nil {
			err = p.print(a, in)
		}
		if err != nil {
			return err
		}
	}
	return p.end()
}

// resolution is the value of --resolution, in nanoseconds.
type resolution int64

// String, Set and Type make it a flag's value.
func (r *resolution) String() string {
	if *r == 0 {
		return ""
	}
	return lasting(uint64(*r))
}

// Set takes what was given.
func (r *resolution) Set(text string) error {
	d, ok := parseAgo(text)
	if !ok || d <= 0 {
		return usageError{fmt.Errorf("--resolution %q: want a duration above 0, such as 500us, 10ms or 1s", text)}
	}
	*r = resolution(d)
	return nil
}

// Type names the kind of value.
func (r *resolution) Type() string { return "duration" }

func newHistorySample() *cobra.Command {
	var form intervalForm
	var when period
	var patterns []string
	var nulls bool
	pixels := 1000
	cmd := &cobra.Command{
		Use:   "sample [flags] FILE",
		Short: "Show the states of many attributes, as a picture shows them",
		Long: `sample shows each interval of attributes that holds in the middle of one of so
many equal parts of the time, once: what a picture of so many columns shows. It
costs by that, not by how many intervals there are. They are whole, also where
they begin before --from or end behind --to; both ends are included.

` + historyFileHelp + historyPatternHelp + historyTimeHelp + historyArrowHelp,
		Example: `  granary history sample --match 'CPUs/*' --pixels 100 run
  granary history sample --csv --from 25% --to 50% run > part.csv
  granary history sample --json --pixels 1 run | jq '.intervals | length'
  granary history sample -o states.arrows --match 'Threads/*' run`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := form.check(cmd, args[0]); err != nil {
				return err
			}
			if pixels > 1<<20 {
				return usageError{fmt.Errorf("--pixels %s: want at most %d", strconv.Itoa(pixels), 1<<20)}
			}
			l, from, to, err := openPeriod(cmd, args[0], &when)
			if err != nil {
				return err
			}
			attributes, err := match(l.Names, patterns)
			if err != nil {
				return err
			}
			if form.format == formatArrow {
				return form.writeArrow(cmd, l, !nulls, func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
					q.Attributes = attributes
					return q.Pixels(ctx, from, to, pixels)
				})
			}
			return form.write(cmd, func(w io.Writer) error {
				return printSample(w, l, attributes, from, to, pixels, &form, nulls)
			})
		},
	}
	matchFlag(cmd, &patterns)
	when.flags(cmd)
	cmd.Flags().Var(&wholeNumber{flag: "pixels", least: 1, n: &pixels, set: new(bool)}, "pixels", "ask at `N` instants, evenly")
	nullsFlag(cmd, &nulls)
	form.flags(cmd)
	return cmd
}

func printSample(w io.Writer, l *loadedHistory, attributes []history.Attribute, from, to int64, pixels int, form *intervalForm, nulls bool) error {
	found, err := l.Pixels(attributes, from, to, pixels)
	if err != nil {
		return err
	}
	head := struct {
		periodJSON
		Pixels     int `json:"pixels"`
		Attributes int `json:"attributes"`
	}{periodJSON{timeJSON(from), timeJSON(to)}, pixels, len(attributes)}
	title := fmt.Sprintf("%s at %s from %s to %s", many(len(attributes), "attribute"), many(pixels, "instant"), offset(l.View, from), offset(l.View, to))
	p, err := newIntervalPrinter(w, l, form, title, head)
	if err != nil {
		return err
	}
	for i := range found.Len() {
		a, in := found.At(i)
		if in.Value.IsNull() && !nulls {
			continue
		}
		if err := p.print(a, in); err != nil {
			return err
		}
	}
	return p.end()
}

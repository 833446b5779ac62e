package states

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/timetext"
)

func newAt() *cobra.Command {
	var form intervalForm
	var behind string
	cmd := &cobra.Command{
		Use:   "at [flags] FILE ATTRIBUTE TIME",
		Short: "Show the state of an attribute at an instant",
		Long: `at shows the state of an attribute at an instant, and the start and the end of
its interval. Both ends are included.

` + askedHelp + attributeHelp + timeHelp,
		Example: `  granary history at run CPUs/0 +1.5s
  granary history at run CPUs/0 end-200ms
  granary history at --json run CPUs/0 50% | jq .value
  granary history at --csv run CPUs/0 50% > state.csv`,
		Args: arguments(&behind, "FILE ATTRIBUTE TIME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = withTime(args, behind)
			l, t, err := form.openAt(cmd, args[0], args[2])
			if err != nil {
				return err
			}
			defer l.close()
			a, err := lookup(l.Names, args[1])
			if err != nil {
				return err
			}
			in, err := l.At(cmd.Context(), a, t)
			if err != nil {
				return err
			}
			return printState(cmd.OutOrStdout(), l, a, t, in, &form)
		},
	}
	agoFlags(cmd, &behind)
	dbFlag(cmd)
	form.printFlags(cmd)
	return cmd
}

// openAt checks the flags, and opens a history for a question about an instant.
func (f *intervalForm) openAt(cmd *cobra.Command, name, instant string) (l *recording, t int64, err error) {
	if err := f.check(cmd, name); err != nil {
		return nil, 0, err
	}
	when, err := parseInstant(instant)
	if err != nil {
		return nil, 0, err
	}
	if l, err = openHistory(cmd, name); err != nil {
		return nil, 0, err
	}
	if t, err = when.at(l); err != nil {
		l.close()
	}
	return l, t, err
}

// printState prints the answer of history at.
func printState(w io.Writer, l *recording, a history.Attribute, t int64, in history.Interval, form *intervalForm) error {
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
		return cli.PrintJSON(w, struct {
			Time string `json:"time"`
			intervalJSON
		}{cli.TimeJSON(t), jsonOf(history.PathText(path), in)})
	}
	p := cli.Printer{W: w}
	p.Printf("%s at %s\n", cli.Printable(history.PathText(path)), whenText(l, t))
	p.Printf("  value  %s\n", cli.Printable(in.Value.String()))
	p.Printf("  kind   %s\n", in.Value.Kind())
	p.Printf("  from   %s\n", whenText(l, in.Start))
	p.Printf("  to     %s\n", whenText(l, in.End))
	p.Printf("  lasts  %s\n", timetext.Text(length(in)))
	return p.Err
}

// whenText formats an instant as an offset and as a date, in forms that flags and arguments accept.
func whenText(l *recording, t int64) string {
	return fmt.Sprintf("%s (%s)", offset(l, t), cli.TimeJSON(t))
}

func newSlice() *cobra.Command {
	var form intervalForm
	var patterns []string
	var behind string
	var nulls bool
	cmd := &cobra.Command{
		Use:   "slice [flags] FILE TIME",
		Short: "Show the states of many attributes at an instant",
		Long: `slice shows the states of attributes at an instant, each with its whole
interval. Both ends are included.

` + askedHelp + patternHelp + timeHelp + arrowHelp,
		Example: `  granary history slice run +1.5s
  granary history slice --match 'CPUs/*/Current_thread' run end-200ms
  granary history slice --json run 50% | jq '.intervals[] | select(.value==2)'
  granary history slice -o states.arrows run +1.5s`,
		Args: arguments(&behind, "FILE TIME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = withTime(args, behind)
			l, t, err := form.openAt(cmd, args[0], args[1])
			if err != nil {
				return err
			}
			defer l.close()
			attributes, err := match(cmd.Context(), l.Names, patterns)
			if err != nil {
				return err
			}
			if form.format == formatArrow {
				return form.writeArrow(cmd, l, attributes, span{t, t}, !nulls, func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
					return q.Slice(ctx, t)
				})
			}
			head := struct {
				Time       string `json:"time"`
				Attributes int    `json:"attributes"`
			}{cli.TimeJSON(t), len(attributes)}
			title := fmt.Sprintf("%s at %s", cli.Many(len(attributes), "attribute"), whenText(l, t))
			return form.writeSample(cmd, l, attributes, []int64{t}, nulls, title, head)
		},
	}
	agoFlags(cmd, &behind)
	dbFlag(cmd)
	matchFlag(cmd, &patterns)
	nullsFlag(cmd, &nulls)
	form.flags(cmd)
	return cmd
}

func nullsFlag(cmd *cobra.Command, nulls *bool) {
	cmd.Flags().BoolVar(nulls, "nulls", false, "include null intervals, in which an attribute has no value")
}

// writeSample writes the intervals of attributes at times, each once, without null intervals unless nulls is
// true.
func (f *intervalForm) writeSample(cmd *cobra.Command, l *recording, attributes []history.Attribute, times []int64, nulls bool, title string, head any) error {
	return f.write(cmd, func(w io.Writer) error {
		of, all, err := l.Sample(cmd.Context(), attributes, times)
		if err != nil {
			return err
		}
		p, err := newIntervalPrinter(w, l, f, title, head)
		if err != nil {
			return err
		}
		for i, in := range all {
			if in.Value.IsNull() && !nulls {
				continue
			}
			if err := p.print(of[i], in); err != nil {
				return err
			}
		}
		return p.end()
	})
}

func newRange() *cobra.Command {
	var form intervalForm
	var when period
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "range [flags] FILE ATTRIBUTE",
		Short: "Show the states of an attribute over time",
		Long: `range shows the intervals of an attribute in the order of time. They are whole,
even if they begin before --from or end after --to. Both ends are included.

` + askedHelp + attributeHelp + timeHelp + arrowHelp,
		Example: `  granary history range run CPUs/0
  granary history range --from +2s --to 50% run CPUs/0
  granary history range --csv --resolution 10ms run CPUs/0 > cpu0.csv
  granary history range -o cpu0.arrows run CPUs/0`,
		Args: arguments(new(string), "FILE ATTRIBUTE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := form.check(cmd, args[0]); err != nil {
				return err
			}
			l, from, to, err := openPeriod(cmd, args[0], &when)
			if err != nil {
				return err
			}
			defer l.close()
			a, err := lookup(l.Names, args[1])
			if err != nil {
				return err
			}
			if form.format == formatArrow {
				return form.writeArrow(cmd, l, []history.Attribute{a}, span{from, to}, false, func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
					q.Resolution = int64(every)
					return q.Range(ctx, from, to)
				})
			}
			return form.write(cmd, func(w io.Writer) error { return printRange(cmd.Context(), w, l, a, from, to, &form, int64(every)) })
		},
	}
	when.flags(cmd)
	dbFlag(cmd)
	cmd.Flags().Var(cli.NewDuration("resolution", 1, 0, &every), "resolution", "only the intervals at --from, at every multiple of `DURATION` after it, and at --to")
	form.flags(cmd)
	return cmd
}

// openPeriod opens a history and returns the bounds of a period in it.
func openPeriod(cmd *cobra.Command, name string, when *period) (l *recording, from, to int64, err error) {
	return when.open(cmd, name, openHistory)
}

// open opens a history in a way of its own, and returns the range of the flags in it.
func (p *period) open(cmd *cobra.Command, name string, open func(*cobra.Command, string) (*recording, error)) (l *recording, from, to int64, err error) {
	if _, _, err = p.read(); err == nil {
		l, err = open(cmd, name)
	}
	if err != nil {
		return nil, 0, 0, err
	}
	if from, to, err = p.of(l); err != nil {
		l.close()
	}
	return l, from, to, err
}

// periodJSON is the JSON form of a period.
type periodJSON struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func printRange(ctx context.Context, w io.Writer, l *recording, a history.Attribute, from, to int64, form *intervalForm, every int64) error {
	path, err := l.Path(a)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s from %s to %s", cli.Printable(history.PathText(path)), offset(l, from), offset(l, to))
	p, err := newIntervalPrinter(w, l, form, title, periodJSON{cli.TimeJSON(from), cli.TimeJSON(to)})
	if err != nil {
		return err
	}
	all := l.Range(ctx, a, from, to)
	if every > 0 {
		v, err := l.view(ctx, []history.Attribute{a}, span{from, to})
		if err != nil {
			return err
		}
		all = v.Range(a, from, to, history.RangeOptions{Resolution: every})
	}
	for in, err := range all {
		if err == nil {
			err = p.print(a, in)
		}
		if err != nil {
			return err
		}
	}
	return p.end()
}

func newSample() *cobra.Command {
	var form intervalForm
	var when period
	var patterns []string
	var nulls bool
	pixels := 1000
	cmd := &cobra.Command{
		Use:   "sample [flags] FILE",
		Short: "Show the states of many attributes at evenly spaced instants",
		Long: `sample divides the time into --pixels equal parts and shows the intervals of
attributes at the middle of each part, each interval once. A picture of that
many columns shows the same intervals. The cost depends on the number of pixels,
not on the number of intervals. The intervals are whole, even if they begin
before --from or end after --to. Both ends are included.

` + askedHelp + patternHelp + timeHelp + arrowHelp,
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
				return cli.Usage(fmt.Errorf("--pixels %s: want at most %d", strconv.Itoa(pixels), 1<<20))
			}
			l, from, to, err := openPeriod(cmd, args[0], &when)
			if err != nil {
				return err
			}
			defer l.close()
			attributes, err := match(cmd.Context(), l.Names, patterns)
			if err != nil {
				return err
			}
			if form.format == formatArrow {
				return form.writeArrow(cmd, l, attributes, span{from, to}, !nulls, func(ctx context.Context, q columnstore.HistoryScan) recordSeq {
					return q.Pixels(ctx, from, to, pixels)
				})
			}
			head := struct {
				periodJSON
				Pixels     int `json:"pixels"`
				Attributes int `json:"attributes"`
			}{periodJSON{cli.TimeJSON(from), cli.TimeJSON(to)}, pixels, len(attributes)}
			title := fmt.Sprintf("%s at %s from %s to %s", cli.Many(len(attributes), "attribute"), cli.Many(pixels, "instant"), offset(l, from), offset(l, to))
			return form.writeSample(cmd, l, attributes, history.PixelTimes(from, to, pixels), nulls, title, head)
		},
	}
	matchFlag(cmd, &patterns)
	when.flags(cmd)
	dbFlag(cmd)
	cmd.Flags().Var(cli.NewWholeNumber("pixels", 1, &pixels), "pixels", "sample at `N` evenly spaced instants")
	nullsFlag(cmd, &nulls)
	form.flags(cmd)
	return cmd
}

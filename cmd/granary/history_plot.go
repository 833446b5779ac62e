package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/history"
)

// plotOptions is the flags of history plot.
type plotOptions struct {
	when     period
	patterns []string
	names    []string
	output   string
	title    string
	width    int
	rows     int
	numbers  string
}

func newHistoryPlot() *cobra.Command {
	o := plotOptions{width: 1200, rows: 200}
	cmd := &cobra.Command{
		Use:   "plot -o FILE.svg [flags] FILE",
		Short: "Draw states over time as a picture",
		Long: `plot draws a time graph as one SVG file that any browser opens: attributes from
top to bottom, time from left to right, states as coloured bars that say what
they are under the pointer. Null is blank.

A column of pixels shows the states in its middle; shorter ones may fall between
two. The picture says how many are seen, and --from and --to show a part in
detail. The times on the axis can be given to --from and to other commands.

The twelve values that take the most room have a colour each and are in the
legend, others share paler ones. Floats, and integers that go up and down in
small steps as counters do, are bars from the least to the greatest of the row.

` + historyFileHelp + historyPatternHelp + historyTimeHelp,
		Example: `  granary history plot -o run.svg run
  granary history plot -o cpus.svg --match 'CPUs/*' --name 2=busy run
  granary history plot -o part.svg --from +1.5s --to +1.6s --width 2000 run`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return plotHistory(cmd, &o, args[0]) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write; - is standard output")
	matchFlag(cmd, &o.patterns)
	o.when.flags(cmd)
	cmd.Flags().Var(&wholeNumber{flag: "width", least: 1, n: &o.width, set: new(bool)}, "width", "width of the picture, `N` pixels from 400 to 20000")
	cmd.Flags().Var(&wholeNumber{flag: "rows", n: &o.rows, set: new(bool)}, "rows", "draw the `N` attributes that change most in the picture; 0 draws all")
	cmd.Flags().StringArrayVar(&o.names, "name", nil, "call a value what `VALUE=TEXT` says: 2='in a system call'; several times for several values")
	cmd.Flags().StringVar(&o.numbers, "numbers", "auto", "draw numbers as `HOW`: colors, bars, or auto")
	cmd.Flags().StringVar(&o.title, "title", "", "`TEXT` above the picture (default: the file and the patterns)")
	return cmd
}

// svgOptions returns what the flags ask for.
func (o *plotOptions) svgOptions(name string) (history.SVGOptions, error) {
	out := history.SVGOptions{Title: o.title, Width: o.width, Rows: o.rows}
	if o.width < 400 || o.width > 20_000 {
		return out, usageError{fmt.Errorf("--width %d: want 400 to 20000", o.width)}
	}
	if out.Title == "" {
		out.Title = strings.TrimSuffix(filepath.Base(name), intervalsSuffix)
		if name == "-" {
			out.Title = "standard input"
		}
		if len(o.patterns) > 0 {
			out.Title += ": " + strings.Join(o.patterns, ", ")
		}
	}
	how, known := map[string]history.Numbers{
		"auto": history.NumbersAuto, "colors": history.NumbersAsColors, "bars": history.NumbersAsBars,
	}[o.numbers]
	if !known {
		return out, usageError{fmt.Errorf("--numbers %q: want auto, colors or bars", o.numbers)}
	}
	out.Numbers = how
	names := map[string]string{}
	for _, text := range o.names {
		value, name, found := strings.Cut(text, "=")
		if !found || name == "" {
			return out, usageError{fmt.Errorf("--name %q: want VALUE=TEXT, such as 2=running", text)}
		}
		names[value] = name
	}
	if len(names) > 0 {
		out.Name = func(_ history.Attribute, v history.Value) string { return names[plainValue(v)] }
	}
	return out, nil
}

func plotHistory(cmd *cobra.Command, o *plotOptions, name string) error {
	if o.output == "" {
		return errNoOutput
	}
	if err := errors.Join(spareHistory(o.output, name), isSVG(o.output)); err != nil {
		return err
	}
	opts, err := o.svgOptions(name)
	if err != nil {
		return err
	}
	l, from, to, err := openPeriod(cmd, name, &o.when)
	if err != nil {
		return err
	}
	attributes, err := match(l.Names, o.patterns)
	if err != nil {
		return err
	}
	if len(o.patterns) == 0 { // not those that only have others below them
		attributes = slices.DeleteFunc(attributes, func(a history.Attribute) bool { return l.values[a] == 0 })
	}
	if len(attributes) == 0 {
		return errors.New("the history has no attribute with a value")
	}
	if opts.Rows == 0 {
		opts.Rows = len(attributes)
	}
	err = writeTo(o.output, cmd.OutOrStdout(), func(w io.Writer) error {
		return history.WriteSVG(w, l.View, attributes, from, to, opts)
	})
	if left := len(attributes) - opts.Rows; err == nil && left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s of %s that change less left out (--rows, --match)\n", number(left), many(len(attributes), "attribute"))
	}
	return err
}

package states

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/internal/tile"
	"github.com/granarydb/granary/render"
)

// pageRows is the default of --rows for a page, which scrolls.
const pageRows = 2000

// plotOptions holds the flags of history plot.
type plotOptions struct {
	when     period
	patterns []string
	names    []string
	output   string
	title    string
	width    int
	rows     int
	numbers  string
	fold     bool
	find     string
	sort     string
	wakes    bool
	samples  bool
}

func newPlot() *cobra.Command {
	o := plotOptions{width: 1200, rows: 200, numbers: "auto", sort: sortChanges}
	cmd := &cobra.Command{
		Use:   "plot -o FILE.svg|FILE.html [flags] FILE",
		Short: "Draw states over time as a picture or a page",
		Long: `plot draws a time graph as one file that any browser opens. Attributes run from
top to bottom and time from left to right. States are coloured bars that show
their value under the pointer. Null is blank.

-o FILE.html writes a page in which time is zoomed with the wheel, + and -, and
moved by dragging or with the arrows; rows scroll, and Shift and arrows read
states without a pointer. It is one file of at most some 20 MB, which needs no
network. It has all states of its range, up to a million intervals; of more it
has the shares of evenly spaced columns, and says so.

-o FILE.svg writes a picture, for documents. A column of pixels with several
states is divided as its time is between them, and its text is that of the state
in its middle; --from and --to show a part in detail. --from and other commands
accept the times on the axis.

Of more than --rows attributes the least changing are left out. With --fold
they are drawn together: a row has several, and shows the share of their time
that each state has. That is a picture of any number of attributes.

--find draws the attributes with a text in their path or function, and --sort
waits those first that waited longest at once. In FILE.svg, --wakes draws an
arrow to each goroutine whose wait ended from the one that ended it, and
--samples marks where goroutines of a Go execution trace had CPU samples.

A goroutine of a Go execution trace is named by its function. That, and the
goroutine that woke it, are no rows of their own unless --match asks for them.

The twelve values that cover the largest area have a colour each and are in the
legend; other values share paler colours. Floats, and integers that rise and
fall in small steps as counters do, are drawn as bars between the minimum and
the maximum of the row: the mean of a column of pixels, and paler its maximum.

` + askedHelp + patternHelp + timeHelp,
		Example: `  granary history plot -o run.svg run
  granary history plot -o run.html run
  granary history plot -o cpus.svg --match 'CPUs/*' --name 2=busy run
  granary history plot -o all.svg --fold --rows 100 run
  granary history plot -o part.svg --from +1.5s --to +1.6s --width 2000 run
  granary history plot -o waits.svg --sort waits --wakes --samples trace.out`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return plotHistory(cmd, &o, args[0]) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write; - is standard output")
	matchFlag(cmd, &o.patterns)
	o.when.flags(cmd)
	dbFlag(cmd)
	cmd.Flags().Var(cli.NewWholeNumber("width", 1, &o.width), "width", "width of the picture, `N` pixels from 400 to 20000")
	cmd.Flags().Var(cli.NewWholeNumber("rows", 0, &o.rows), "rows", "draw the `N` attributes that change most in the picture (a page: 2000); 0 draws all")
	cmd.Flags().StringVar(&o.find, "find", "", "draw the attributes with the `TEXT` in their path or function, and those below them")
	cmd.Flags().Var(cli.NewChoice("sort", []string{sortChanges, sortWaits}, &o.sort), "sort", "draw attributes in the history's order, or those with the longest waits first: changes or `waits`")
	cmd.Flags().BoolVar(&o.wakes, "wakes", false, "draw an arrow from each goroutine to those whose waits it ended")
	cmd.Flags().BoolVar(&o.samples, "samples", false, "mark the CPU samples of a Go execution trace")
	cmd.Flags().BoolVar(&o.fold, "fold", false, "draw all attributes in --rows rows, several in each, as shares of their time")
	cmd.Flags().StringArrayVar(&o.names, "name", nil, "show a value as a text, `VALUE=TEXT`: 2='in a system call'; may be repeated")
	cmd.Flags().Var(cli.NewChoice("numbers", []string{"auto", "colors", "bars"}, &o.numbers), "numbers", "draw numbers as `HOW`: colors, bars, or auto")
	cmd.Flags().StringVar(&o.title, "title", "", "`TEXT` above the picture (default: the file and the patterns)")
	return cmd
}

// isPage reports whether the output is an HTML page.
func (o *plotOptions) isPage() bool {
	ending := strings.ToLower(filepath.Ext(o.output))
	return ending == ".html" || ending == ".htm"
}

// check returns a usage error for an output in another format, and for flags that do not apply to a page.
func (o *plotOptions) check(cmd *cobra.Command) error {
	for _, flag := range []string{"wakes", "samples"} {
		if cmd.Flags().Changed(flag) && (o.isPage() || o.fold) {
			return cli.Usage(fmt.Errorf("--%s is for SVG, without --fold; the page of granary view has them", flag))
		}
	}
	switch {
	case !o.isPage():
		return cli.CheckSVG(o.output, "HTML")
	case cmd.Flags().Changed("width"):
		return cli.Usage(errors.New("--width is for SVG: a page is as wide as its window"))
	}
	if !cmd.Flags().Changed("rows") {
		o.rows = pageRows
	}
	return nil
}

// pictureOptions returns the options of the picture from the flags.
func (o *plotOptions) pictureOptions(name string) (render.TimeOptions, error) {
	out := render.TimeOptions{Title: o.title, Width: o.width, Rows: o.rows, Fold: o.fold}
	if o.width < 400 || o.width > 20_000 {
		return out, cli.Usage(fmt.Errorf("--width %d: want 400 to 20000", o.width))
	}
	if out.Title == "" {
		out.Title = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ihs.IntervalsSuffix), fileSuffix)
		if name == "-" {
			out.Title = "standard input"
		}
		if len(o.patterns) > 0 {
			out.Title += ": " + strings.Join(o.patterns, ", ")
		}
	}
	out.Numbers = map[string]render.Numbers{
		"auto": render.NumbersAuto, "colors": render.NumbersAsColors, "bars": render.NumbersAsBars,
	}[o.numbers]
	names := map[string]string{}
	for _, text := range o.names {
		value, name, found := strings.Cut(text, "=")
		if !found || name == "" {
			return out, cli.Usage(fmt.Errorf("--name %q: want VALUE=TEXT, such as 2=running", text))
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
		return cli.ErrNoOutput
	}
	if err := cmp.Or(spareHistory(cmd, o.output, name), o.check(cmd)); err != nil {
		return err
	}
	opts, err := o.pictureOptions(name)
	if err != nil {
		return err
	}
	marks, open := sampleMarks{}, openHistory
	if o.samples {
		open = marks.open
	}
	l, from, to, err := o.when.open(cmd, name, open)
	if err != nil {
		return err
	}
	defer l.close()
	attributes, err := match(cmd.Context(), l.Names, o.patterns)
	if err != nil {
		return err
	}
	view, err := l.view(cmd.Context(), attributes, span{from, to})
	if err != nil {
		return err
	}
	if len(o.patterns) == 0 {
		attributes = withoutAsides(view.Names, withValues(view, attributes))
	}
	opts.Label = functionOf(view, from)
	if o.wakes {
		opts.Arrows = wakesOf(view, from, to)
	}
	if o.samples {
		opts.Marks = marks.of(view)
	}
	attributes = foundRows(view.Names, attributes, o.find, opts.Label)
	if len(attributes) == 0 {
		return errors.New("the history has no attribute with a value")
	}
	if opts.Rows == 0 {
		opts.Rows = len(attributes)
	}
	all := len(attributes)
	if o.sort == sortWaits {
		most := opts.Rows
		if o.fold {
			most = all
		}
		if attributes, err = byWaits(view, attributes, span{from, to}, most, cmd.Context().Err); err != nil {
			return err
		}
	}
	if opts.Pyramid, err = l.pyramid(cmd.ErrOrStderr()); err != nil {
		return err
	}
	opts.Err = cmd.Context().Err
	draw := render.TimeGraph
	if o.isPage() {
		draw = render.TimePage
	}
	err = cli.WriteOutput(cmd, o.output, func(w io.Writer) error {
		return draw(w, view, attributes, from, to, opts)
	})
	if left := all - opts.Rows; err == nil && left > 0 && !o.fold {
		least := map[string]string{sortChanges: "change least", sortWaits: "wait least"}[o.sort]
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: left out the %s of %s that %s (--rows, --match)\n", cli.Number(left), cli.Many(all, "attribute"), least)
	}
	return err
}

// withValues omits the attributes that never have a value, because they only group others. It reads no
// states.
func withValues(v *history.View, attributes []history.Attribute) (left []history.Attribute) {
	has := make([]uint64, v.Lanes()) // slots with values
	for lane := range has {
		for slot, kind := range v.Kinds(lane) {
			has[lane] |= tile.One(kind != history.KindNull) << slot
		}
	}
	left = make([]history.Attribute, 0, len(attributes))
	for _, a := range attributes { // a later view can have more lanes
		if lane, slot, placed := v.Place(a); placed && lane < len(has) && has[lane]>>slot&1 != 0 {
			left = append(left, a)
		}
	}
	return left
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/chart"
	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
)

// seriesOptions holds the flags of series.
type seriesOptions struct {
	selection
	by      []string
	step    time.Duration
	limit   cli.Limit
	average bool
	width   int // width of the chart; 0 means the width of the terminal
	asJSON  bool
}

func newSeries() *cobra.Command {
	var o seriesOptions
	cmd := &cobra.Command{
		Use:   "series [flags] INPUT...",
		Short: "Chart values over time, by label",
		Long: `series draws a chart of the profiles' values over time: one line, or with --by
one line for each value of a label. A profile without a time takes the time of
its file.

A point is the sum of the profiles of one time, or with --step of the profiles
within a step. The chart chooses a step by itself, and names it, if there are
more times than columns, or if the profiles of a line were taken at times of
their own, as those of many pods are. JSON has no step without --step.

Values measured over a period, such as CPU time, add up. So do values that count
from the start of a process, such as alloc_space of Go's heap profiles, although
each of them contains those before it. Of values measured at an instant, such as
the heap in use, a point is the mean over its times, for the profiles with equal
labels except file, and the sum of these means. --sum adds up all values.

--average shows the mean of a point's profiles. With --by, it is the mean of the
profiles that have the label's value, so the lines do not add up to the overall
mean.

If all profiles have the same time, a table of sums takes the place of the
chart.

` + choiceHelp + `

` + kindsHelp + `

` + askedHelp,
		Example: `  granary demo --span 5m --profiles gen       # profiles for the lines below
  granary series --sample-index inuse_space gen
  granary series --sample-index cpu --by job gen
  granary series --sample-index cpu --by job --by zone -n 0 --step 1m gen
  granary series --sample-index cpu --by job --from latest-1h --average gen
  granary series --sample-index cpu --search 'runtime[.]gcBgMarkWorker' gen
  granary series --sample-index cpu --json gen | jq -c '.lines[].points[]'`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.sum && o.average {
				return cli.Usage(errors.New("--sum and --average: choose one"))
			}
			for i, name := range o.by {
				if slices.Contains(o.by[:i], name) {
					return cli.Usage(fmt.Errorf("--by %s is there twice: name another label or leave it out", name))
				}
			}
			return withType(cmd, o.selection, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) error {
				found, err := findSeries(ctx, db, snap, q, t, &o, cli.Width(cmd.OutOrStdout(), o.width))
				if err != nil {
					return err
				}
				output := found.print
				if o.asJSON {
					output = found.printJSON
				}
				if err := output(cmd.OutOrStdout()); err != nil || found.profiles > 0 {
					return err
				}
				return o.noteEmpty(ctx, cmd, db, snap, q, true, found.typ)
			}, o.by...)
		},
	}
	o.flags(cmd)
	return cmd
}

// flags adds the flags of series to cmd.
func (o *seriesOptions) flags(cmd *cobra.Command) {
	o.selection.flags(cmd, firstShown)
	o.answerFlags(cmd)
	cmd.Flags().StringArrayVar(&o.by, "by", nil, "draw a line for each value of `LABEL`; may be repeated, for a line for each combination of values. 'granary labels' lists the labels")
	cmd.Flags().Var(cli.NewDuration("step", 1, 0, &o.step), "step", "the `DURATION` of a point: 10s, 5m, 1h, 7d (default: a point for each time, if they are few and shared by the profiles of a line)")
	o.limit.Flags(cmd, "top", 5, "show the `N` lines with the greatest values")
	cmd.Flags().BoolVar(&o.average, "average", false, "show the mean of a point's profiles instead of the sum")
	cmd.Flags().Var(cli.NewColumns(&o.width), "width", "the width of the chart in `COLUMNS`, 24 to 1000 (default: that of the terminal, or 80)")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: values are integers in the unit named in it")
}

// seriesFound is the answer of series.
type seriesFound struct {
	typ     profile.Type
	by      []string
	step    time.Duration // 0: a point for each time
	chosen  bool          // the step was chosen, not set by --step
	average bool
	mean    bool // points are means over the times of each source
	width   int  // width of the chart; 0 means the width of the terminal
	extent
	total int64
	most  int  // greatest number of profiles in a point
	cut   bool // steps at the edges were omitted
	lines []seriesLine
	all   int // number of lines, shown or not
}

// extent is the number of profiles of an answer, and the range of their times.
type extent struct {
	profiles int
	from, to int64 // times of the first and the last profile
}

func extentOf(infos []profile.ProfileInfo) extent {
	s := extent{profiles: len(infos)}
	for i, p := range infos {
		if i == 0 {
			s.from, s.to = p.Time, p.Time
		}
		s.from, s.to = min(s.from, p.Time), max(s.to, p.Time)
	}
	return s
}

func (s extent) String() string {
	return fmt.Sprintf("%s, %s", cli.Many(s.profiles, "profile"), timeRange(s.from, s.to))
}

// seriesLine is a line with the statistics of its points.
type seriesLine struct {
	profile.Line
	total               int64
	least, most, middle int64 // middle is the mean
}

// findSeries answers series. A chart is `columns` columns wide.
func findSeries(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type, o *seriesOptions, columns int) (*seriesFound, error) {
	if err := knownLabels(ctx, db, snap, q, "by", o.by...); err != nil {
		return nil, err
	}
	infos, err := db.Profiles(ctx, snap, t, q)
	if err != nil {
		return nil, err
	}
	out := &seriesFound{typ: t, by: o.by, step: o.step, average: o.average, width: o.width, extent: extentOf(infos)}
	if len(infos) == 0 {
		return out, nil
	}
	for _, p := range infos {
		out.total += p.Total
	}
	if out.step == 0 && !o.asJSON {
		out.step = chart.Step(infos, o.by, labelFile, columns)
		out.chosen = out.step > 0
	}
	means, err := findMeans(ctx, db, snap, q, t)
	if err != nil {
		return nil, err
	}
	out.mean = means.over > 0 && out.step > 0 && !o.average
	if err := db.CheckKinds(ctx, snap, t, q, o.by...); err != nil {
		return nil, err
	}
	// Grouping also by file gives the number of profiles in each point.
	counted := q
	counted.SumGauges = true
	lines, err := db.Range(ctx, snap, t, counted, profile.RangeOptions{Step: out.step, By: append([]string{labelFile}, o.by...)})
	if err != nil {
		return nil, err
	}
	out.lines = out.join(lines)
	if out.mean {
		lines, err := db.Range(ctx, snap, t, q, profile.RangeOptions{Step: out.step, By: o.by})
		if err != nil {
			return nil, err
		}
		out.takeMeans(lines)
	}
	if !o.asJSON {
		out.leaveOutEdges(infos)
	}
	out.summarize()
	out.all = len(out.lines)
	out.lines = cli.First(out.lines, o.limit.Of(o.asJSON))
	return out, nil
}

// join adds the lines of single files to the requested lines.
func (f *seriesFound) join(lines []profile.Line) []seriesLine {
	type sum struct {
		value    int64
		profiles int
	}
	index := map[string]int{}
	var out []seriesLine
	var sums []map[int64]sum
	for _, line := range lines {
		labels := slices.DeleteFunc(line.Labels, func(l profile.Label) bool { return !slices.Contains(f.by, l.Name) })
		key := fmt.Sprintf("%q", labels)
		i, known := index[key]
		if !known {
			i = len(out)
			index[key] = i
			out = append(out, seriesLine{Line: profile.Line{Labels: labels}})
			sums = append(sums, map[int64]sum{})
		}
		for _, p := range line.Points {
			s := sums[i][p.Time]
			sums[i][p.Time] = sum{s.value + p.Value, s.profiles + 1}
		}
	}
	for i := range out {
		for _, t := range slices.Sorted(maps.Keys(sums[i])) {
			s := sums[i][t]
			f.most = max(f.most, s.profiles)
			if f.average {
				s.value = int64(math.Round(float64(s.value) / float64(s.profiles)))
			}
			out[i].Points = append(out[i].Points, profile.Point{Time: t, Value: s.value})
		}
	}
	return out
}

// takeMeans replaces the points of the lines with the points of lines of means.
func (f *seriesFound) takeMeans(means []profile.Line) {
	points := map[string][]profile.Point{}
	for _, line := range means {
		points[fmt.Sprintf("%q", line.Labels)] = line.Points
	}
	for i := range f.lines {
		f.lines[i].Points = points[fmt.Sprintf("%q", f.lines[i].Labels)]
	}
}

// leaveOutEdges removes the first and the last step from sums if the profiles begin or end within that step,
// because its sum would be too low.
func (f *seriesFound) leaveOutEdges(infos []profile.ProfileInfo) {
	if f.step == 0 || f.average || f.mean {
		return
	}
	times := map[int64]bool{}
	for _, p := range infos {
		times[p.Time] = true
	}
	distance := (f.to - f.from) / int64(max(1, len(times)-1))
	first, last := f.from-f.from%int64(f.step), f.to-f.to%int64(f.step)
	if last-first < 3*int64(f.step) {
		return // too few steps to remove any
	}
	begin, end := f.from-first > distance, last+int64(f.step)-f.to > 2*distance
	for i := range f.lines {
		f.lines[i].Points = slices.DeleteFunc(f.lines[i].Points, func(p profile.Point) bool {
			return begin && p.Time == first || end && p.Time == last
		})
	}
	f.lines = slices.DeleteFunc(f.lines, func(l seriesLine) bool { return len(l.Points) == 0 })
	f.cut = begin || end
}

// summarize computes the statistics of each line, and sorts the line with the greatest absolute total first.
func (f *seriesFound) summarize() {
	for i := range f.lines {
		l := &f.lines[i]
		l.least, l.most = math.MaxInt64, math.MinInt64
		for _, p := range l.Points {
			l.total += p.Value
			l.least, l.most = min(l.least, p.Value), max(l.most, p.Value)
		}
		l.middle = l.total / int64(max(1, len(l.Points)))
	}
	slices.SortFunc(f.lines, func(a, b seriesLine) int {
		return cmp.Or(bySize(a.total, b.total), cmp.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
	})
}

func (f *seriesFound) print(w io.Writer) error {
	p := cli.Printer{W: w}
	p.Printf("Type: %s\n", typeText(f.typ))
	if len(f.lines) == 0 {
		p.Printf("%s\n", noSamples)
		return p.Err
	}
	c := chart.Chart{Unit: f.typ.SampleUnit, Label: chart.ValueLabel(f.typ.SampleUnit), From: math.MaxInt64, To: math.MinInt64, Terminal: cli.Colored(w), Width: cli.Width(w, f.width)}
	for _, line := range f.lines {
		c.Lines = append(c.Lines, line.Points)
		c.From, c.To = min(c.From, line.Points[0].Time), max(c.To, line.Points[len(line.Points)-1].Time)
	}
	p.Printf("%s\n", f.extent)
	switch {
	case f.from == f.to:
		p.Printf("There is no chart of one time.\n\n")
		f.printSums(&p)
	case c.From == c.To:
		p.Printf("There is no chart of one point: all of them are in one step of %s.\n\n", timetext.Text(uint64(f.step)))
		f.printSums(&p)
	default:
		c.Tick = chart.TimeTick(c.From, c.To)
		p.Printf("A point is %s\n", f.pointText())
		if f.chosen {
			p.Printf("The step of %s is chosen from their times; --step sets another.\n", timetext.Text(uint64(f.step)))
		}
		if f.cut {
			p.Printf("Steps that the profiles begin or end in are cut short and not shown.\n")
		}
		p.Printf("\n%s\n", c.String())
		f.printLegend(&p, c.Mark)
	}
	if len(f.lines) < f.all {
		p.Printf("Showing %s of %s lines: those with the greatest sums (-n 0 shows all)\n", cli.Number(len(f.lines)), cli.Number(f.all))
	}
	return p.Err
}

// timeRange formats a time, or two times if from and to differ, in the local zone, and appends the zone.
func timeRange(from, to int64) string {
	first, last := time.Unix(0, from), time.Unix(0, to)
	text, zone := first.Format(time.DateTime), last.Format(" MST")
	if before := first.Format(" MST"); before != zone {
		return text + before + " to " + last.Format(time.DateTime) + zone // the clock changed
	}
	switch {
	case from == to:
	case first.Format(time.DateOnly) == last.Format(time.DateOnly):
		text += " to " + last.Format(time.TimeOnly)
	default:
		text += " to " + last.Format(time.DateTime)
	}
	return text + zone
}

// pointText describes a point's value.
func (f *seriesFound) pointText() string {
	of := "one profile"
	switch {
	case f.most > 1 && f.step > 0:
		of = fmt.Sprintf("up to %d profiles in %s", f.most, timetext.Text(uint64(f.step)))
	case f.most > 1:
		of = fmt.Sprintf("up to %d profiles of one time", f.most)
	case f.step > 0:
		of = "one profile in " + timetext.Text(uint64(f.step))
	}
	switch {
	case f.most <= 1:
		return of + "."
	case f.average:
		return "the mean of " + of + "."
	case f.mean:
		return "the mean over the times of each set of labels, of " + of + ".\n--sum adds them up."
	default:
		return "the sum of " + of + ". --average shows the mean."
	}
}

// lineNames returns the heading above the names of lines.
func (f *seriesFound) lineNames() string {
	if len(f.by) == 0 {
		return "profiles"
	}
	return cli.Printable(strings.Join(f.by, ", "))
}

// printSums prints the lines as a table, for answers without a chart.
func (f *seriesFound) printSums(p *cli.Printer) {
	isMean, used := f.average || f.mean, 14
	head := fmt.Sprintf("%12s", "mean")
	if !isMean {
		head, used = fmt.Sprintf("%12s %7s", "sum", "sum%"), 22
	}
	p.Printf("%s  %s\n", head, f.lineNames())
	names := f.names(cli.Width(p.W, f.width) - used)
	for i, line := range f.lines {
		p.Printf("%12s", profile.FormatValue(line.total, f.typ.SampleUnit))
		if !isMean {
			p.Printf(" %7s", percent(line.total, f.total))
		}
		p.Printf("  %s\n", names[i])
	}
}

// printLegend prints the statistics of a chart's lines.
func (f *seriesFound) printLegend(p *cli.Printer, mark func(line int) string) {
	columns := cli.Width(p.W, f.width)
	p.Printf("   %12s %12s %12s  %s\n", "least", "mean", "most", f.lineNames())
	value := func(v int64) string { return profile.FormatValue(v, f.typ.SampleUnit) }
	names := f.names(columns - 43)
	for i, line := range f.lines {
		p.Printf(" %s %12s %12s %12s  %s\n", mark(i), value(line.least), value(line.middle), value(line.most), names[i])
	}
}

// names returns the names of the lines, shortened to width.
func (f *seriesFound) names(width int) []string {
	lines := make([][]string, len(f.lines))
	for i, line := range f.lines {
		if len(f.by) == 0 {
			lines[i] = []string{"all"}
		}
		for _, name := range f.by {
			lines[i] = append(lines[i], cli.Printable(cmp.Or(valueOf(line.Labels, name), "(none)")))
		}
	}
	return chart.Names(lines, width)
}

// seriesPoint is a point in JSON.
type seriesPoint struct {
	Time  string `json:"time"`
	Value int64  `json:"value"`
}

// seriesLineJSON is a line in JSON.
type seriesLineJSON struct {
	Labels map[string]string `json:"labels"`
	Points []seriesPoint     `json:"points"`
}

func (f *seriesFound) printJSON(w io.Writer) error {
	lines := []seriesLineJSON{}
	for _, line := range f.lines {
		out := seriesLineJSON{Labels: map[string]string{}, Points: []seriesPoint{}}
		for _, l := range line.Labels {
			out.Labels[l.Name] = l.Value
		}
		for _, p := range line.Points {
			out.Points = append(out.Points, seriesPoint{cli.TimeJSON(p.Time), p.Value})
		}
		lines = append(lines, out)
	}
	return cli.PrintJSON(w, struct {
		SampleType string           `json:"sample_type"`
		Unit       string           `json:"unit"`
		Profiles   int              `json:"profiles"`
		Step       float64          `json:"step_seconds"`
		Average    bool             `json:"average"`
		Mean       bool             `json:"mean"`
		Lines      []seriesLineJSON `json:"lines"`
	}{f.typ.Sample, f.typ.SampleUnit, f.profiles, f.step.Seconds(), f.average, f.mean, lines})
}

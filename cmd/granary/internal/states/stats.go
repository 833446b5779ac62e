package states

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/stats"
	"github.com/granarydb/granary/trace/golang"
)

// statsOptions holds the flags of history stats.
type statsOptions struct {
	when     period
	patterns []string
	by       string
	top      string
	limit    cli.Limit
	json     bool
}

func newStats() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats [flags] FILE",
		Short: "Sum up how long states last, or list the longest",
		Long: `stats sums up the time in each state: the total, its share of all, how often,
and the least, mean, median (p50), p99 and greatest duration. All are exact. An
interval counts with its part between --from and --to. Null is no state.

--by says what has a row; several with commas, a row for each combination:
  state      each state (the default)
  attribute  each attribute
  waker      what ended a wait: the number of a goroutine, 'timer or system', or
             null if the wait did not end, and for states that are no waits
  function   each state of another attribute meanwhile, which a PATTERN leads to
  PATTERN    from each attribute: function is below, ../Exec_name beside

--top STATE lists the longest intervals in a state instead: those of runnable
are the latency of the scheduler. It means states such as 'waiting (sync)' too
if it is their first word, and waits stands for waiting.

Without --match the attributes are all, and of a Go execution trace those in
Goroutines.

` + askedHelp + patternHelp + timeHelp,
		Example: `  granary history stats trace.out
  granary history stats --by function,state trace.out
  granary history stats --by attribute,waker,state trace.out
  granary history stats --by attribute --match 'CPUs/*' --from 25% --to 50% run
  granary history stats --top waits -n 10 trace.out
  granary history stats --json trace.out | jq '.rows[0].p99_ns'`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	matchFlag(cmd, &o.patterns)
	o.when.flags(cmd)
	dbFlag(cmd)
	cmd.Flags().StringVar(&o.by, "by", "state", "a row for each of `KEYS`: state, attribute, waker, function or another PATTERN, with commas between them")
	cmd.Flags().StringVar(&o.top, "top", "", "list the longest intervals in `STATE`; waits stands for waiting")
	o.limit.Flags(cmd, "", 20, "show the first `N` rows")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *statsOptions) run(cmd *cobra.Command, name string) error {
	if o.top != "" && cmd.Flags().Changed("by") {
		return cli.Usage(errors.New("choose one of --by and --top"))
	}
	by, err := stats.ParseCriteria(o.by)
	if err != nil {
		return cli.Usage(fmt.Errorf("--by %s: %w", o.by, err))
	}
	l, from, to, err := openPeriod(cmd, name, &o.when)
	if err != nil {
		return err
	}
	defer l.close()
	q := stats.Question{From: from, To: to, End: l.End(), By: by}
	if len(o.patterns) == 0 && isGoHistory(l.Names) {
		o.patterns = []string{golang.Goroutines + "/*"}
	}
	if q.Attributes, err = match(cmd.Context(), l.Names, o.patterns); err != nil {
		return err
	}
	if o.top != "" {
		return o.longest(cmd, l, q)
	}
	groups, err := stats.Of(cmd.Context(), l.Names, l, q)
	if err != nil {
		return err
	}
	found := o.answer(l, q, groups)
	return cli.PrintAnswer(cmd.OutOrStdout(), o.json, found, func(p *cli.Printer) { found.print(p, l, len(groups)) })
}

// isGoHistory reports whether a history has the attributes of Go programs.
func isGoHistory(names history.Names) bool {
	for _, name := range []string{golang.Goroutines, golang.Procs, golang.GC} {
		if _, err := names.Lookup(name); err != nil {
			return false
		}
	}
	return true
}

// statsJSON is the answer of history stats, and its JSON form.
type statsJSON struct {
	periodJSON
	By         []string   `json:"by"`
	Attributes int        `json:"attributes"`
	Total      uint64     `json:"total_ns"` // of all rows
	Rows       []statsRow `json:"rows"`
}

// statsRow is the row of a group. Durations are in nanoseconds.
type statsRow struct {
	Key     []any        `json:"key"` // by the keys of statsJSON.By: states, and paths of attributes
	Total   uint64       `json:"total_ns"`
	Share   float64      `json:"share"`
	Count   int          `json:"count"`
	Min     uint64       `json:"min_ns"`
	Mean    uint64       `json:"mean_ns"`
	P50     uint64       `json:"p50_ns"`
	P99     uint64       `json:"p99_ns"`
	Max     uint64       `json:"max_ns"`
	Longest intervalJSON `json:"longest"`
	start   int64        // of the longest
}

func (o *statsOptions) answer(l *recording, q stats.Question, groups []stats.Group) *statsJSON {
	out := &statsJSON{periodJSON: periodJSON{cli.TimeJSON(q.From), cli.TimeJSON(q.To)}, Attributes: len(q.Attributes), Rows: []statsRow{}}
	for _, key := range q.By {
		out.By = append(out.By, key.String())
	}
	for _, g := range groups {
		out.Total += g.Total
	}
	for _, g := range cli.First(groups, o.limit.Of(o.json)) {
		row := statsRow{
			Total: g.Total, Share: float64(g.Total) / float64(out.Total), Count: g.Count, Min: g.Min, Mean: g.Mean, P50: g.P50, P99: g.P99, Max: g.Max,
			Longest: spanJSON(l, g.Longest), start: g.Longest.Start,
		}
		for i, v := range g.Keys {
			if key := any(pathOf(l, history.Attribute(v.Int()))); q.By[i].IsAttribute() {
				row.Key = append(row.Key, key)
			} else {
				row.Key = append(row.Key, jsonValue(v))
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// pathOf returns the path of an attribute as text.
func pathOf(l *recording, a history.Attribute) string {
	text, _ := l.AppendPath(nil, a) // ok, because a exists
	return string(text)
}

// spanJSON returns the JSON form of the part of an interval.
func spanJSON(l *recording, s stats.Span) intervalJSON {
	return jsonOf(pathOf(l, s.Attribute), history.Interval{Start: s.Start, End: s.End, Value: s.Value})
}

func (s *statsJSON) print(p *cli.Printer, l *recording, groups int) {
	p.Printf("%s from %s to %s: %s\n", cli.Many(s.Attributes, "attribute"), s.From, s.To, cli.Duration(s.Total))
	p.Printf("%9s %6s %8s %9s %9s %9s %9s %9s  %-13s  %s\n", "total", "share", "count", "min", "mean", "p50", "p99", "max", "max at", strings.Join(s.By, ", "))
	for _, r := range s.Rows {
		var key []string
		for _, k := range r.Key {
			if k == nil {
				k = "null"
			}
			key = append(key, cli.Printable(fmt.Sprint(k)))
		}
		p.Printf("%9s %5.1f%% %8d %9s %9s %9s %9s %9s  %-13s  %s\n", cli.Duration(r.Total), 100*r.Share, r.Count, cli.Duration(r.Min), cli.Duration(r.Mean),
			cli.Duration(r.P50), cli.Duration(r.P99), cli.Duration(r.Max), offset(l, r.start), strings.Join(key, ", "))
	}
	p.NotShown(groups-len(s.Rows), "row")
}

// longest lists the longest intervals.
func (o *statsOptions) longest(cmd *cobra.Command, l *recording, q stats.Question) error {
	state := o.top
	if state == "waits" {
		state = "waiting"
	}
	is := func(v history.Value) bool {
		text := plainValue(v)
		return text == state || strings.HasPrefix(text, state+" ")
	}
	most := o.limit.Of(o.json)
	if most == 0 {
		most = math.MaxInt32
	}
	spans, all, err := stats.Longest(cmd.Context(), l, q, is, most)
	if err != nil {
		return err
	}
	found := struct {
		periodJSON
		All       int            `json:"all"`
		Intervals []intervalJSON `json:"intervals"`
	}{periodJSON{cli.TimeJSON(q.From), cli.TimeJSON(q.To)}, all, []intervalJSON{}}
	for _, s := range spans {
		found.Intervals = append(found.Intervals, spanJSON(l, s))
	}
	return cli.PrintAnswer(cmd.OutOrStdout(), o.json, found, func(p *cli.Printer) {
		p.Printf("%s of %s from %s to %s\n", cli.Many(all, "interval"), cli.Printable(o.top), found.From, found.To)
		p.Printf("%9s  %-13s  %-24s  %s\n", "for", "from", "value", "attribute")
		for i, in := range found.Intervals {
			if function := l.functionAt(spans[i].Attribute, spans[i].Start); function != "" {
				in.Attribute += " " + function
			}
			p.Printf("%9s  %-13s  %-24s  %s\n", cli.Duration(in.Duration), offset(l, spans[i].Start), cli.Fit(cli.Printable(plainValue(spans[i].Value)), 24), cli.Printable(in.Attribute))
		}
		p.NotShown(all-len(spans), "interval")
	})
}

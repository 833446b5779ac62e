package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// selection is the flags that choose what a command is about.
type selection struct {
	sampleIndex string
	selector    string
	search      string
	from, to    string
}

// firstShown is what commands that show one sample type do without a flag.
const firstShown = "the one that the first profile with samples shows first"

// flags adds the flags; otherwise says which sample type is meant without one.
func (s *selection) flags(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&s.sampleIndex, "sample-index", "",
		"the sample `TYPE`, such as cpu or inuse_space (default: "+otherwise+")")
	s.queryFlags(cmd)
}

// queryFlags adds the flags of commands that are about all sample types.
func (s *selection) queryFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.selector, "selector", "",
		"`LABELS` to choose by, as in Prometheus: '{thread=~\"w.*\",file!=\"old.pb.gz\"}'. The label named file is the input as it was named; the others are those of the samples that are text, not numbers")
	cmd.Flags().StringVar(&s.search, "search", "",
		"only samples with a function that matches `REGEX`, such as 'json[.]' or '^main[.]'")
	cmd.Flags().StringVar(&s.from, "from", "",
		"only profiles of `TIME` or later: 2026-01-31T09:00:00Z, 2026-01-31 (UTC), Unix seconds, or so long before the newest profile: -90s, -1h, -7d")
	cmd.Flags().StringVar(&s.to, "to", "", "only profiles before `TIME`")
}

// question is a selection that was understood. When it is about, may depend on
// the profiles.
type question struct {
	query    profile.Query
	from, to moment
}

// moment is a bound on times: none, a Unix time, or a time before the newest profile.
type moment struct {
	set, relative bool
	nanos         int64
}

// read parses the flags. Its errors are wrong use.
func (s *selection) read() (question, error) {
	var q question
	var err error
	if q.query.Selector, err = profile.ParseSelector(s.selector); err != nil {
		return q, err
	}
	if s.search != "" {
		if q.query.Function, err = regexp.Compile(s.search); err != nil {
			cause := err
			if bad, ok := errors.AsType[*syntax.Error](err); ok {
				cause = errors.New(bad.Code.String())
			}
			return q, usageError{fmt.Errorf("--search %q: want a regular expression, such as 'json[.]' or '^main[.]': %w", s.search, cause)}
		}
	}
	if q.from, err = parseMoment("from", s.from); err != nil {
		return q, err
	}
	if q.to, err = parseMoment("to", s.to); err != nil {
		return q, err
	}
	if q.from.set && q.to.set && q.from.relative == q.to.relative && q.from.nanos >= q.to.nanos {
		return q, emptyRange(s.from, s.to)
	}
	return q, nil
}

func emptyRange(from, to string) error {
	return usageError{fmt.Errorf("--from %s is not before --to %s: there is no time between them", from, to)}
}

// parseMoment parses a time as a person writes it.
func parseMoment(flag, text string) (moment, error) {
	if text == "" {
		return moment{}, nil
	}
	if text[0] == '-' {
		if d, ok := parseAgo(text[1:]); ok {
			return moment{set: true, relative: true, nanos: -int64(d)}, nil
		}
	} else if t, ok := parseTime(text); ok && t.Unix() > 0 && t.Unix() < maxUnix {
		return moment{set: true, nanos: t.UnixNano()}, nil
	} else if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < maxUnix {
		whole, fraction := math.Modf(seconds)
		return moment{set: true, nanos: int64(whole)*1e9 + int64(fraction*1e9)}, nil
	}
	return moment{}, usageError{fmt.Errorf("--%s %q: want a time such as 2026-01-31T09:00:00Z, Unix seconds such as 1769850000, a day such as 2026-01-31, or a duration before the newest profile such as -1h or -7d", flag, text)}
}

// parseTime parses a time or the start of a day, UTC where no zone is named.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// maxUnix bounds Unix seconds: nanoseconds have 64 bits.
const maxUnix = math.MaxInt64 / 1_000_000_000

// parseAgo parses a duration, in days too.
func parseAgo(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && !strings.HasPrefix(text, "+")
}

// at returns the query about the profiles of a snapshot.
func (q question) at(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, s *selection) (profile.Query, error) {
	query := q.query
	var newest int64
	if q.from.relative || q.to.relative {
		times, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{By: []string{profile.ColumnTimestamp}})
		if err != nil {
			return query, err
		}
		for _, t := range times.Columns[0].Values.Int64s {
			newest = max(newest, t)
		}
	}
	query.From, query.To = q.from.bound(newest), q.to.bound(newest)
	if q.from.set && q.to.set && query.From >= query.To {
		return query, emptyRange(s.from, s.to)
	}
	return query, nil
}

// bound returns a bound in Unix nanoseconds, 0 if there is none.
func (m moment) bound(newest int64) int64 {
	switch {
	case !m.set:
		return 0
	case m.relative:
		return max(1, newest+m.nanos)
	default:
		return m.nanos
	}
}

// findType resolves the named sample type, or the one to show first.
func findType(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (profile.Type, error) {
	if name == "" {
		return db.DefaultType(ctx, snap, q)
	}
	t, err := db.FindType(ctx, snap, name)
	if !errors.Is(err, profile.ErrUnknownType) || (name != unnamed && name != "''") {
		return t, err
	}
	types, errTypes := db.Types(ctx, snap)
	if errTypes != nil {
		return profile.Type{}, errTypes
	}
	var found []string
	for _, there := range types {
		if there.Sample == "" {
			t = there
			found = append(found, there.String())
		}
	}
	switch len(found) {
	case 0:
		return profile.Type{}, err
	case 1:
		return t, nil
	default:
		return profile.Type{}, fmt.Errorf("%w %q, choose one of: %s", profile.ErrAmbiguousType, name, strings.Join(found, ", "))
	}
}

// unnamed is what a sample type without a name is called.
const unnamed = "unnamed"

// typeName is what to call a sample type: old profiles have some without a name.
func typeName(t profile.Type) string { return cmp.Or(printable(t.Sample), unnamed) }

// typeText is the name and the unit of a sample type.
func typeText(t profile.Type) string {
	if t.SampleUnit == "" {
		return typeName(t)
	}
	return fmt.Sprintf("%s (%s)", typeName(t), printable(t.SampleUnit))
}

// whyNoSamples says that there are no samples, and why where that is known: the
// selector wants a label that no profile has.
func whyNoSamples(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) (string, error) {
	const plain = "There are no samples"
	text := q.Selector.String()
	if text == "" {
		return plain + ".", nil
	}
	matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
	if err != nil {
		return plain + ".", nil // it has another form than was parsed before
	}
	names, err := db.LabelNames(ctx, snap, profile.Query{})
	if err != nil {
		return "", err
	}
	columns, err := db.Table().Columns(snap)
	if err != nil {
		return "", err
	}
	for _, m := range matchers {
		switch {
		case m.Matches("") || slices.Contains(names, m.Name):
		case slices.ContainsFunc(columns, func(column string) bool { return isNumber(column, m.Name) }):
			return fmt.Sprintf("%s: the label %q is a number, --selector chooses by text.", plain, m.Name), nil
		default:
			return fmt.Sprintf("%s: no profile has the label %q (\"granary labels\" lists them).", plain, m.Name), nil
		}
	}
	return plain + ".", nil
}

// isNumber says whether a column has a label of samples whose values are numbers. Its
// name has the unit and the number of the value behind that of the label.
func isNumber(column, label string) bool {
	rest, ok := strings.CutPrefix(column, profile.ColumnPprofNumLabels+"."+label)
	return ok && (rest == "" || rest[0] == '[' || rest[0] == '#')
}

// noteNoSamples says beside an empty answer that is a file what it is.
func noteNoSamples(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
	why, err := whyNoSamples(ctx, db, snap, q)
	if err == nil {
		noteNothing(cmd, why)
	}
	return err
}

// noteNothing says on standard error what whyNoSamples found.
func noteNothing(cmd *cobra.Command, why string) {
	why = strings.TrimSuffix(strings.TrimPrefix(why, "T"), ".")
	fmt.Fprintf(cmd.ErrOrStderr(), "granary: t%s\n", why)
}

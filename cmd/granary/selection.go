package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
)

// selection holds the flags that select samples.
type selection struct {
	inputFlags
	sampleIndex string
	selector    string
	search      string
	focus       string
	ignore      string
	hide, show  string
	sum         bool
	sumKinds    bool
	from, to    string
	side        string       // side of a difference, as a prefix of notes
	states      *stateChoice // nil for commands that do not choose by states
	withStates  bool         // the states of Go execution traces are read too
}

// firstShown describes the default sample type of commands that show one type.
const firstShown = "the default type of the first profile with samples, in the order of the inputs and of the names in a folder"

// flags adds the flags. The help of --sample-index describes its default as `otherwise`.
func (s *selection) flags(cmd *cobra.Command, otherwise string) {
	cmd.Flags().StringVar(&s.sampleIndex, "sample-index", "",
		"the sample `TYPE`, such as cpu or inuse_space (default: "+otherwise+")")
	s.queryFlags(cmd)
}

// queryFlags adds the flags that apply to all sample types.
func (s *selection) queryFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.selector, "selector", "",
		"only samples with these `LABELS`, in the syntax of Prometheus: '{thread=~\"w.*\",file!=\"old.pb.gz\"}'. The label file is the name of the input; the others are those of --label and of folders, and the text labels of samples")
	cmd.Flags().StringVar(&s.search, "search", "",
		"only samples with a function in their stack that matches `REGEX`, such as 'json[.]' or '^main[.]'")
	cmd.Flags().StringVar(&s.focus, "focus", "",
		"only samples with a frame whose function, source file or binary matches `REGEX`, as -focus of go tool pprof")
	cmd.Flags().StringVar(&s.ignore, "ignore", "",
		"only samples in which no frame has a function, source file or binary that matches `REGEX`, as -ignore of go tool pprof")
	cmd.Flags().StringVar(&s.from, "from", "",
		"only profiles of `TIME` or later: 2026-01-31T09:00:00Z, 2026-01-31 (local), 1769850000 (Unix), -1h or now-1h (before now), or latest-1h (before the newest profile); units ns, us, ms, s, m, h, d and w")
	cmd.Flags().StringVar(&s.to, "to", "", "only profiles before `TIME`")
	s.storeFlags(cmd)
	s.dbFlag(cmd)
}

// answerFlags adds the flags for answers made from samples: hidden frames, and sums of gauges and kinds.
func (s *selection) answerFlags(cmd *cobra.Command) {
	s.frameFlags(cmd)
	cmd.Flags().BoolVar(&s.sumKinds, "sum-kinds", false,
		"add up, or compare, profiles of different kinds, such as Go's block and mutex profiles. By default that is an error")
	cmd.Flags().BoolVar(&s.sum, "sum", false,
		"add up values measured at an instant, such as the heap in use, as go tool pprof does. By default they are means over the times of the profiles whose labels, except file, are equal")
}

// frameFlags adds the flags for hidden frames.
func (s *selection) frameFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.hide, "hide", "",
		"leave out the frames whose function, source file or binary matches `REGEX`, as -hide of go tool pprof")
	cmd.Flags().StringVar(&s.show, "show", "",
		"leave out the frames whose function, source file and binary do not match `REGEX`, as -show of go tool pprof")
}

// question is a parsed selection. Its time bounds may depend on the profiles.
type question struct {
	query    profile.Query
	from, to moment
	now      time.Time
}

// moment is a bound on time, if it is set.
type moment struct {
	set bool
	timetext.Time
}

// read parses the flags. Its errors are usage errors.
func (s *selection) read() (question, error) {
	q := question{now: time.Now(), query: profile.Query{SumGauges: s.sum, SumKinds: s.sumKinds}}
	var err error
	if q.query.Selector, err = profile.ParseSelector(s.selector); err != nil {
		if !strings.Contains(s.selector, "{") {
			err = fmt.Errorf("%w; conditions on labels stand in braces: '{job=\"api\"}'", err)
		}
		return q, err
	}
	var focus, ignore *regexp.Regexp
	for _, p := range []struct {
		flag, text string
		to         **regexp.Regexp
	}{{"search", s.search, &q.query.Function}, {"focus", s.focus, &focus}, {"ignore", s.ignore, &ignore}, {"hide", s.hide, &q.query.Hide}, {"show", s.show, &q.query.Show}} {
		if p.text == "" {
			continue
		}
		if *p.to, err = compile("--"+p.flag+" ", p.text); err != nil {
			return q, err
		}
	}
	for _, c := range []profile.FrameCondition{{Name: focus}, {Name: ignore, Not: true}} {
		if c.Name != nil {
			q.query.Frames = append(q.query.Frames, c)
		}
	}
	if q.from, err = parseMoment("from", s.from); err != nil {
		return q, err
	}
	if q.to, err = parseMoment("to", s.to); err != nil {
		return q, err
	}
	if q.from.set && q.to.set && q.from.Base == q.to.Base && q.from.At(0) >= q.to.At(0) {
		return q, emptyRange(s.from, s.to)
	}
	return q, nil
}

// compile parses a regular expression. The error begins with `before`, the text that precedes the expression
// on the command line.
func compile(before, text string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		cause := err
		if bad, ok := errors.AsType[*syntax.Error](err); ok {
			cause = errors.New(bad.Code.String())
		}
		return nil, cli.Usage(fmt.Errorf("%s%q: want a regular expression, such as 'json[.]' or '^main[.]': %w", before, text, cause))
	}
	return re, nil
}

func emptyRange(from, to string) error {
	return cli.Usage(fmt.Errorf("--from %s is not before --to %s: there is no time between them", from, to))
}

// parseMoment parses a time in the grammar of package timetext. A date without a zone is in the local zone,
// like the dates in answers.
func parseMoment(flag, text string) (moment, error) {
	if text == "" {
		return moment{}, nil
	}
	t, ok := timetext.Parse(text, time.Local)
	if !ok || t.Base == timetext.Unix && t.Nanos <= 0 {
		return moment{}, cli.Usage(fmt.Errorf("--%s %q: want a time such as 2026-01-31T09:00:00Z, a day such as 2026-01-31, Unix seconds such as 1769850000, a duration before now such as -1h, or one before the newest profile such as latest-1h", flag, text))
	}
	return moment{true, t}, nil
}

// at returns the query, with its time bounds resolved against the profiles of a snapshot.
func (q question) at(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, s *selection) (profile.Query, error) {
	query := q.query
	var newest int64
	if q.from.Base == timetext.Latest || q.to.Base == timetext.Latest {
		var err error
		if _, newest, err = spanOfTimes(ctx, db, snap); err != nil {
			return query, err
		}
	}
	query.From, query.To = q.from.bound(q.now, newest), q.to.bound(q.now, newest)
	if q.from.set && q.to.set && query.From >= query.To {
		return query, emptyRange(s.from, s.to)
	}
	return query, nil
}

// bound returns the bound in Unix nanoseconds, or 0 if there is none.
func (m moment) bound(now time.Time, newest int64) int64 {
	switch {
	case !m.set:
		return 0
	case m.Base == timetext.Latest:
		return max(1, m.At(newest))
	}
	return max(1, m.At(now.UnixNano()))
}

// findType resolves a sample type by name. An empty name means the default type.
func findType(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (profile.Type, error) {
	if name == "" {
		return db.DefaultType(ctx, snap, q)
	}
	t, err := db.FindTypeIn(ctx, snap, q, name)
	if !errors.Is(err, profile.ErrUnknownType) || (name != unnamed && name != "''") {
		return t, err
	}
	types, errTypes := db.Types(ctx, snap)
	if errTypes != nil {
		return profile.Type{}, errTypes
	}
	var found []string
	for _, there := range profile.JoinTypes(types) {
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

// unnamed stands for a sample type without a name.
const unnamed = "unnamed"

// typeName returns the printed name of a sample type. Old profiles have types without a name.
func typeName(t profile.Type) string { return cmp.Or(cli.Printable(t.Sample), unnamed) }

// typeText returns a sample type's name and unit.
func typeText(t profile.Type) string {
	if t.SampleUnit == "" {
		return typeName(t)
	}
	return fmt.Sprintf("%s (%s)", typeName(t), cli.Printable(t.SampleUnit))
}

// knownSelected returns a usage error if the selector requires a label that no profile has, or a label whose
// values are numbers. It returns no error if no profile has labels.
func knownSelected(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
	required := q.Selector.Requires()
	if len(required) == 0 {
		return nil
	}
	columns, err := db.Table().Columns(snap)
	if err != nil {
		return err
	}
	for _, label := range required {
		if slices.ContainsFunc(columns, func(column string) bool { return isNumber(column, label) }) {
			names, err := db.LabelNames(ctx, snap, profile.Query{})
			if err != nil {
				return err
			}
			if !slices.Contains(names, label) {
				return cli.Usage(fmt.Errorf("--selector: the label %q is a number, --selector chooses by text", label))
			}
		}
	}
	return knownLabels(ctx, db, snap, profile.Query{}, "selector", required...)
}

// isNumber reports whether a column has a numeric label of samples. The unit and the number of the value
// follow the label in the column's name.
func isNumber(column, label string) bool {
	rest, ok := strings.CutPrefix(column, profile.ColumnPprofNumLabels+"."+label)
	return ok && (rest == "" || rest[0] == '[' || rest[0] == '#')
}

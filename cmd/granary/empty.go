package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/timetext"
	"github.com/granarydb/granary/profile"
)

// noSamples is the sentence for an answer without samples.
const noSamples = "There are no samples."

// noteEmpty reports on standard error that an answer about types, or about all types, has no samples, and
// which conditions exclude them all. If no condition does and hasSentence says that the answer itself has the
// sentence, it reports nothing.
func (s *selection) noteEmpty(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, hasSentence bool, types ...profile.Type) error {
	reason, err := s.whyEmpty(ctx, db, snap, q, types)
	if err != nil || reason == "" && hasSentence {
		return err
	}
	if reason != "" {
		reason = ": " + reason
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "granary: %sthere are no samples%s\n", s.side, reason)
	return nil
}

// condition is the part of a query that one flag sets, or both bounds on time.
type condition struct {
	flags string
	query profile.Query
	times bool
}

// conditions returns the parts of a query that flags set.
func (s *selection) conditions(q profile.Query) []condition {
	var times []string
	for _, bound := range [][2]string{{"--from", s.from}, {"--to", s.to}} {
		if bound[1] != "" {
			times = append(times, bound[0]+" "+bound[1])
		}
	}
	all := []condition{{strings.Join(times, " "), profile.Query{From: q.From, To: q.To}, true}}
	add := func(flag, value string, query profile.Query) {
		if value != "" {
			all = append(all, condition{fmt.Sprintf("--%s '%s'", flag, cli.Printable(value)), query, false})
		}
	}
	add("selector", s.selector, profile.Query{Selector: q.Selector})
	add("search", s.search, profile.Query{Function: q.Function})
	for _, c := range q.Frames {
		flag, value := "focus", s.focus
		if c.Not {
			flag, value = "ignore", s.ignore
		}
		add(flag, value, profile.Query{Frames: []profile.FrameCondition{c}})
	}
	add("hide", s.hide, profile.Query{Hide: q.Hide})
	add("show", s.show, profile.Query{Show: q.Show})
	if times == nil {
		return all[1:]
	}
	return all
}

// whyEmpty explains why a query selects no samples of types, or of any type: it names the first condition
// that alone excludes all, or all conditions together. It returns "" if the query selects samples.
func (s *selection) whyEmpty(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, types []profile.Type) (string, error) {
	if some, err := hasRows(ctx, db, snap, profile.Query{}, types); err != nil || !some {
		if some, err = hasRows(ctx, db, snap, profile.Query{}, nil); err != nil || !some {
			return "", err
		}
		return fmt.Sprintf("none has a value of %s (--sample-index)", typeName(types[0])), nil
	}
	all := s.conditions(q)
	var flags []string
	for _, c := range all {
		some, err := hasRows(ctx, db, snap, c.query, types)
		switch {
		case err != nil:
			return "", err
		case !some && c.times:
			first, last, err := spanOfTimes(ctx, db, snap)
			if ago, isAgo := s.beforeNow(); isAgo && err == nil && last < q.From {
				return fmt.Sprintf("no profiles since %s; the newest is of %s: --from latest%s", timeRange(q.From, q.From), timeRange(last, last), ago), nil
			}
			return fmt.Sprintf("%s leaves none of %s", c.flags, timeRange(first, last)), err
		case !some:
			return c.flags + " leaves none", nil
		}
		flags = append(flags, c.flags)
	}
	if some, err := hasRows(ctx, db, snap, q, types); err != nil || some {
		return "", err
	}
	return strings.Join(flags, " and ") + " together leave none", nil
}

// beforeNow returns the duration of --from, with a minus sign, if it counts from now.
func (s *selection) beforeNow() (ago string, isAgo bool) {
	at, err := parseMoment("from", s.from)
	if err != nil || at.Base != timetext.Now {
		return "", false
	}
	if ago = strings.TrimLeft(strings.TrimPrefix(s.from, "now"), "-"); ago != "" {
		ago = "-" + ago
	}
	return ago, true
}

// hasRows reports whether a query selects a row of types, or of any type.
func hasRows(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, types []profile.Type) (bool, error) {
	for rec, err := range db.Table().Scan(ctx, snap, columnstore.ScanOptions{Columns: []string{profile.ColumnValue}, Where: q.Expr(types...), Limit: 1}) {
		if err != nil {
			return false, err
		}
		rec.Release()
		return true, nil
	}
	return false, nil
}

// spanOfTimes returns the times of the first and the last profile, or 0 without profiles.
func spanOfTimes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot) (first, last int64, err error) {
	groups, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{By: []string{profile.ColumnTimestamp}})
	if err != nil || len(groups.Counts) == 0 {
		return 0, 0, err
	}
	times := groups.Columns[0].Values.Int64s
	return slices.Min(times), slices.Max(times), nil
}

package targets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime/pprof"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/workloads"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// questionOf has the questions in package peers that targets ask.
var questionOf = map[string]string{
	"merge-all": "merge-all", "select-pod": "select-pod", "one-profile": "one-profile", "regex-pods": "select-pods-wide",
	"label-names": "label-names", "label-values": "label-values", "types": "types",
}

// queryKeys are the query targets, in the order of measurement.
var queryKeys = []string{
	"merge-all", "merge-all-arrow", "merge-type-arrow", "merge-job-arrow", "select-pod", "one-profile", "regex-pods",
	"scan-arrow", "scan-arrow-dictionary", "label-names", "label-values", "types",
}

// queries measures queries on a compacted fleet, then inserts beside a reader.
func queries(o Options, c *collector) error {
	if !o.has("1m") {
		c.skip("size 1m is not among -sizes", append([]string{"insert-p99"}, queryKeys...)...)
		return nil
	}
	return workloads.WithFleet(o.variant, o.Rows, func(q *workloads.FilledFleet) error {
		rows := q.Store.Stats().Rows
		for _, key := range queryKeys {
			progress("%s", key)
			ask, err := query(q, key)
			if err != nil {
				return err
			}
			cost, err := o.profiled(key, func() (measure.Cost, error) { return measure.CostOf(o.Repeat, ask) })
			if err != nil {
				return err
			}
			c.add(key, rows, cost.Ms...)
		}
		progress("insert-p99")
		all, err := workloads.PacedInserts(q, o.Repeat, o.Phase)
		for _, l := range all {
			c.add("insert-p99", rows, l.P99)
		}
		return err
	})
}

// profiled measures a query, with a CPU profile if there is a folder for it.
func (o Options) profiled(key string, of func() (measure.Cost, error)) (cost measure.Cost, err error) {
	if o.Profiles == "" {
		return of()
	}
	file, err := os.Create(filepath.Join(o.Profiles, key+".prof"))
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return cost, err
	}
	defer pprof.StopCPUProfile()
	return of()
}

// query returns a target's query.
func query(q *workloads.FilledFleet, key string) (func() error, error) {
	kind := peers.OfType(q.Subject)
	job := peers.Term{Column: fleet.LabelPrefix + "job", Text: q.Subject.Columns[fleet.LabelPrefix+"job"].Strings[0]}
	switch key {
	case "merge-all-arrow":
		return func() error { return mergeToArrow(&q.Granary, columnstore.Expr{}) }, nil
	case "merge-type-arrow":
		where := peers.Condition(kind)
		return func() error { return mergeToArrow(&q.Granary, where) }, nil
	case "merge-job-arrow":
		where := peers.Condition(append(kind, job))
		return func() error { return mergeToArrow(&q.Granary, where) }, nil
	case "scan-arrow":
		return func() error { return scanToArrow(&q.Granary, columnstore.Native) }, nil
	case "scan-arrow-dictionary":
		return func() error { return scanToArrow(&q.Granary, columnstore.Dictionary) }, nil
	}
	one, err := q.Question(questionOf[key])
	if err != nil {
		return nil, err
	}
	return func() error { return one.Ask(q, nil) }, nil
}

// errEmpty is the error for a query without an answer, whose cost means nothing.
var errEmpty = errors.New("the answer has no row")

// mergeToArrow sums rows by stack and makes a record with each stack's locations.
func mergeToArrow(g *peers.Granary, where columnstore.Expr) error {
	return g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		groups, err := g.Table.Aggregate(ctx, snap, columnstore.AggregateOptions{
			Sum: profile.ColumnValue, By: []string{profile.ColumnStacktrace}, Where: where,
		})
		if err != nil {
			return err
		}
		rec, err := groups.Record(columnstore.RecordOptions{Form: columnstore.Dictionary})
		if err != nil {
			return err
		}
		defer rec.Release()
		if rec.NumRows() == 0 {
			return errEmpty
		}
		return nil
	})
}

// scanToArrow makes records with all rows and columns.
func scanToArrow(g *peers.Granary, form columnstore.Form) error {
	return g.View(func(ctx context.Context, snap *columnstore.Snapshot) error {
		rows := int64(0)
		for rec, err := range g.Table.Scan(ctx, snap, columnstore.ScanOptions{Form: form}) {
			if err != nil {
				return err
			}
			rows += rec.NumRows()
			rec.Release()
		}
		if rows == 0 {
			return errEmpty
		}
		return nil
	})
}

package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/internal/symbols"
	codec "github.com/granarydb/granary/profile/pprof"
)

// plan is a query of a snapshot, compiled once: nothing derives a condition from its Query again.
// Everything else that an answer needs is resolved from the plan, in this order: the kinds of its
// sources, the times for gauge means, and the sums of its groups (decision 0042).
//
// A plan belongs to one goroutine and one answer.
type plan struct {
	db         *DB
	snap       *columnstore.Snapshot
	types      []Type           // types of the values; empty for all types
	conditions                  // compiled from q
	chosen     columnstore.Expr // rows of the chosen types
	q          Query            // for its settings, because its conditions are compiled
	names      *labelNames      // of the labels that the query and its groups name
}

// conditions are a query's conditions on rows, by what they depend on. Each is an operand of And.
type conditions struct {
	samples  []columnstore.Expr // on labels and on other columns
	times    []columnstore.Expr
	stacks   []columnstore.Expr
	profiles []columnstore.Expr // on labels of profiles, without labels of samples
}

// plan compiles a query for the values of types, or for all values if there are no types. Its patterns are abandoned
// with ctx.
func (db *DB) plan(ctx context.Context, snap *columnstore.Snapshot, q Query, types ...Type) *plan {
	names := &labelNames{db: db, snap: snap, q: q}
	q = names.resolve()
	p := &plan{db: db, snap: snap, types: types, conditions: q.compile(pattern.Until(ctx)), q: q, names: names}
	p.chosen = p.rows(types)
	return p
}

// compile returns the query's conditions. After stop they mean nothing.
func (q *Query) compile(stop pattern.Stop) (c conditions) {
	c.samples = []columnstore.Expr{q.Selector.Expr(), q.Where}
	c.profiles = q.Selector.profileExprs()
	if q.From != 0 {
		c.times = append(c.times, columnstore.AtLeast(ColumnTimestamp, q.From))
	}
	if q.To != 0 {
		c.times = append(c.times, columnstore.Less(ColumnTimestamp, q.To))
	}
	if q.Function != nil {
		c.stacks = append(c.stacks, hasLocation(symbols.HasFunction(q.Function, q.namer, stop)))
	}
	if n := len(q.Under); n > 0 {
		c.stacks = append(c.stacks, hasLocation(symbols.HasName(q.Under[n-1], q.namer)))
	}
	if len(q.Frames) > 0 || q.Hide != nil || q.Show != nil {
		c.stacks = append(c.stacks, q.frameExprs(stop)...)
	}
	return c
}

// frameExprs returns the query's conditions on frames.
func (q *Query) frameExprs(stop pattern.Stop) []columnstore.Expr {
	var all []columnstore.Expr
	some := false // a condition holds only for stacks with a location
	for _, c := range q.Frames {
		all, some = append(all, c.expr(q.namer, stop)), some || !c.Not
	}
	if q.Hide != nil || q.Show != nil {
		all, some = append(all, hasLocation(symbols.HasShown(q.Hide, q.Show, q.namer, stop))), true
	}
	if len(all) > 0 && !some {
		all = append(all, hasLocation(func(*dict.RecordReader, uint32) bool { return true }))
	}
	return all
}

// expr returns the condition on rows.
func (c FrameCondition) expr(namer codec.Namer, stop pattern.Stop) columnstore.Expr {
	e := hasLocation(symbols.HasFrame(symbols.Condition{
		Name: c.Name, Function: c.Function, File: c.File, Binary: c.Mapping, BuildID: c.BuildID, From: c.From, To: c.To,
	}, namer, stop))
	if c.Not {
		e = columnstore.Not(e)
	}
	return e
}

// hasLocation returns a condition that holds for rows whose stack has a location for which f returns true.
func hasLocation(f symbols.Holds) columnstore.Expr {
	return columnstore.ElementFunc(ColumnStacktrace, f)
}

// rows returns the condition that a row is chosen and has one of the types, if any.
func (c *conditions) rows(types []Type) columnstore.Expr {
	return columnstore.And(slices.Concat(c.samples, ofTypes(types), c.times, c.stacks)...)
}

// series returns rows without the conditions on stacks, because no series has a stack.
func (c *conditions) series(types []Type) columnstore.Expr {
	return columnstore.And(slices.Concat(c.samples, ofTypes(types), c.times)...)
}

// ofProfiles returns the condition that a row belongs to a chosen profile, whether or not its sample is
// chosen.
func (c *conditions) ofProfiles(types []Type) columnstore.Expr {
	return columnstore.And(slices.Concat(ofTypes(types), c.times, c.profiles)...)
}

// ofTypes returns the condition that a row has one of the types, or no condition without types.
func ofTypes(types []Type) []columnstore.Expr {
	if len(types) == 0 {
		return nil
	}
	either := make([]columnstore.Expr, len(types))
	for i, t := range types {
		either[i] = columnstore.And(columnstore.Equal(ColumnSampleType, t.Sample), columnstore.Equal(ColumnSampleUnit, t.SampleUnit))
		if !t.isOfAnyPeriod() {
			either[i] = columnstore.And(either[i], columnstore.Equal(ColumnPeriodType, t.Period), columnstore.Equal(ColumnPeriodUnit, t.PeriodUnit))
		}
	}
	return []columnstore.Expr{columnstore.Or(either...)}
}

// sum adds up the values of the chosen rows by the columns of opts. types are the types of these rows. It
// returns a MixedError instead of a sum over several kinds. Gauges become means over each source's times,
// unless the query sums them. A group can come in several rows, which the caller adds up, and a stack
// column can follow the others.
func (p *plan) sum(ctx context.Context, types []Type, opts columnstore.AggregateOptions) (*columnstore.Groups, error) {
	if err := p.oneKind(ctx, types, labelsOf(opts.By)); err != nil {
		return nil, err
	}
	if len(p.q.Under) > 0 && !slices.Contains(opts.By, ColumnStacktrace) {
		opts.By = append(slices.Clip(opts.By), ColumnStacktrace)
	}
	everyTime := opts.Step == 0 && slices.Contains(opts.By, ColumnTimestamp)
	gauges := slices.DeleteFunc(slices.Clone(types), func(t Type) bool { return !t.IsGauge() })
	if p.q.SumGauges || everyTime || len(gauges) == 0 {
		return p.sums(ctx, opts)
	}
	times, err := p.gaugeTimes(ctx, gauges, opts.Step)
	if err != nil {
		return nil, err
	}
	return p.means(ctx, times, opts)
}

// labelsOf returns the profile labels among columns.
func labelsOf(columns []string) (labels []string) {
	for _, column := range columns {
		if name, ok := strings.CutPrefix(column, ColumnLabels+"."); ok {
			labels = append(labels, name)
		}
	}
	return labels
}

// sums adds up the values of the chosen rows. If the query has a path of functions, the columns of opts
// include the stack, and only groups under the path are returned.
func (p *plan) sums(ctx context.Context, opts columnstore.AggregateOptions) (*columnstore.Groups, error) {
	opts.Sum = ColumnValue
	groups, err := p.read(ctx, p.chosen, opts)
	if err == nil && len(p.q.Under) > 0 {
		stacks := groups.Column(ColumnStacktrace)
		err = keepUnder(ctx, groups, stacks, p.symbols(stacks), p.q.Under)
	}
	return groups, err
}

// read groups the rows that match where, within the query's memory.
func (p *plan) read(ctx context.Context, where columnstore.Expr, opts columnstore.AggregateOptions) (*columnstore.Groups, error) {
	opts.Where, opts.MaxBytes, opts.Time = where, p.q.MaxBytes, ColumnTimestamp
	return p.db.table.Aggregate(ctx, p.snap, opts)
}

// fits returns an error if the groups, and an answer of `answer` bytes that is made from them, exceed
// Query.MaxBytes together.
func (p *plan) fits(groups *columnstore.Groups, answer int) error {
	if p.q.MaxBytes <= 0 {
		return nil
	}
	rows := len(groups.Sums)
	bytes := answer + 16*rows
	for i := range groups.Columns {
		c := &groups.Columns[i]
		bytes += len(c.Values.Valid)
		switch c.Values.Type {
		case encoding.String, encoding.UUID:
			bytes += 16 * rows
		case encoding.UUIDList:
			bytes += 4 * rows
		default:
			bytes += 8 * rows
		}
	}
	if int64(bytes) > p.q.MaxBytes {
		return fmt.Errorf("%w: %d bytes for %d groups, at most %d", columnstore.ErrQueryMemory, bytes, rows, p.q.MaxBytes)
	}
	return nil
}

package filter

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

// Read is a read of a table at one commit.
type Read struct {
	*Env
	State *catalog.TableState        // nil if the table is newer than the commit
	Use   txn.Use[*catalog.Database] // keeps the root alive until the read is done
}

// Concrete resolves the names of columns and families to concrete columns, in the given order. A family's
// columns are sorted. nil means all columns in the schema. Errors wrap ErrQuery.
func (r *Read) Concrete(names []string) ([]schema.Concrete, error) {
	if names == nil {
		for _, c := range r.Schema.Columns() {
			names = append(names, c.Name)
		}
	}
	var out []schema.Concrete
	for _, name := range names {
		if family, ok := r.Schema.Family(name); ok {
			for _, column := range r.State.Family(name) {
				out = append(out, schema.Concrete{Column: family, Name: column})
			}
			continue
		}
		column, ok := r.Schema.Resolve(name)
		if !ok {
			return nil, fmt.Errorf("%w: no column %q", ErrQuery, name)
		}
		out = append(out, schema.Concrete{Column: column, Name: name})
	}
	return out, nil
}

// Names returns the concrete names of all columns, in schema order.
func (r *Read) Names() ([]string, error) {
	columns, err := r.Concrete(nil)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names, err
}

// Chosen yields a Selection for each part of the read that has matching rows. A Selection is valid until
// the next one. Granules come in key order, and so do rows if ordered is true. wide is as in NewChooser.
func (r *Read) Chosen(ctx context.Context, where Expr, ordered, wide bool) iter.Seq2[Selection, error] {
	return func(yield func(Selection, error) bool) {
		c, err := NewChooser(ctx, r, where, wide)
		if err != nil {
			yield(Selection{}, err)
			return
		}
		defer c.Done()
		if r.State == nil {
			return
		}
		for g, err := range c.reads(ctx, r) {
			if err != nil {
				yield(Selection{}, err)
				return
			}
			if ordered && g.FreshParts() > 0 { // a granule of only a base part is sorted
				g = granule.Rewrite(r.Schema, g, granule.Limit{Rows: math.MaxInt})[0]
			}
			for _, slice := range c.Parts(g) {
				s := c.Choose(slice)
				if c.Cancelled() {
					yield(Selection{}, ctx.Err())
					return
				}
				if s.Rows > 0 && !yield(s, nil) {
					return
				}
			}
		}
		if c.Cancelled() { // while the condition was evaluated on the series, so that no granule was found
			yield(Selection{}, ctx.Err())
		}
	}
}

// EachSeries calls each with the series that can have matching rows, one set for each generation.
// Consecutive buckets of a generation are combined into one call. The errors are as for NewChooser, and
// report cancellation and expiry of the snapshot.
func EachSeries(ctx context.Context, r *Read, where Expr, each func(*granule.Generation, *granule.SeriesColumns, catalog.Bitset)) error {
	c, err := NewChooser(ctx, r, where, false)
	if err != nil {
		return err
	}
	defer c.Done()
	if r.State == nil {
		return nil
	}
	var gen *granule.Generation
	var set, some catalog.Bitset
	byBucket := c.filter.byBucket()
	for _, b := range c.Buckets() {
		if err := cmp.Or(ctx.Err(), r.Use.Err()); err != nil {
			return err
		}
		if !b.HasRows() {
			continue
		}
		its, err := r.Dictionaries(r.State, b)
		if err != nil {
			return err
		}
		if gen != its && gen != nil {
			each(gen, c.seriesColumns(gen), set)
			set = nil
		}
		if gen != its || byBucket {
			gen = its
			some = c.filter.ofSeries(gen, c.seriesColumns(gen), b).some
		}
		if more := len(b.Series) - len(set); more > 0 {
			set = append(set, make(catalog.Bitset, more)...)
		}
		for i, word := range b.Series {
			set[i] |= word & some[i]
		}
	}
	if c.Cancelled() {
		return ctx.Err()
	}
	if gen != nil {
		each(gen, c.seriesColumns(gen), set)
	}
	return nil
}

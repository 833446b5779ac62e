package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/polarsignals/frostdb/dynparquet"
	"github.com/polarsignals/frostdb/query/logicalplan"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/parca"
)

// NewProvider returns the tables of a store for FrostDB's engine: one, by the name parca.TableName, which it
// creates if there is none. It is safe for concurrent use and lives as long as the store. The errors are those
// of parca.Open.
func NewProvider(store *columnstore.Store) (logicalplan.TableProvider, error) {
	if _, err := parca.Open(store); err != nil {
		return nil, err
	}
	schema, err := profile.Schema()
	if err != nil {
		return nil, fmt.Errorf("parca's schema: %w", err)
	}
	return provider{store: store, table: store.Table(parca.TableName), schema: schema}, nil
}

type provider struct {
	store  *columnstore.Store
	table  *columnstore.Table
	schema *dynparquet.Schema // Parca's
}

// GetTable implements logicalplan.TableProvider.
func (p provider) GetTable(name string) (logicalplan.TableReader, error) {
	if name != parca.TableName {
		return nil, fmt.Errorf("table %q: want %q", name, parca.TableName)
	}
	return reader(p), nil
}

// reader implements logicalplan.TableReader: each query reads one snapshot.
type reader provider

// snapshotKey is the key of the snapshot in a query's context.
type snapshotKey struct{}

// Schema returns Parca's schema, with which the engine checks a plan.
func (r reader) Schema() *dynparquet.Schema { return r.schema }

// View calls f with one query's snapshot.
func (r reader) View(ctx context.Context, f func(ctx context.Context, tx uint64) error) error {
	return r.store.View(ctx, func(snap *columnstore.Snapshot) error {
		return f(context.WithValue(ctx, snapshotKey{}, snap), uint64(snap.Commit()))
	})
}

// SchemaIterator is for queries about columns, which Parca does not make.
func (r reader) SchemaIterator(context.Context, uint64, memory.Allocator, []logicalplan.Callback, ...logicalplan.Option) error {
	return fmt.Errorf("scan of the schema: %w", errors.ErrUnsupported)
}

// Iterator calls the callbacks in turn with the rows in View's snapshot, in records. A record has a label
// column only if all of its rows have the label, because to the engine a missing column equals the empty
// text, as it should, and a null equals nothing.
func (r reader) Iterator(ctx context.Context, _ uint64, pool memory.Allocator, callbacks []logicalplan.Callback, options ...logicalplan.Option) error {
	snap, ok := ctx.Value(snapshotKey{}).(*columnstore.Snapshot)
	if !ok || len(callbacks) == 0 {
		return errors.New("iterator without a view or without a callback")
	}
	var opts logicalplan.IterOptions
	for _, set := range options {
		set(&opts)
	}
	columns, err := r.projected(snap, opts.PhysicalProjection)
	if err != nil {
		return err
	}
	scan := columnstore.ScanOptions{Columns: columns, OwnDictionaries: true}
	if len(columns) == 0 {
		scan.Columns = []string{profile.ColumnValue} // because rows without columns are counted
	}
	if opts.Filter != nil {
		scan.Where = pushed(r.table.Schema(), opts.Filter)
	}
	out := newConverter(pool, len(columns) == 0)
	scan.Elements = out.element
	turn := 0
	for rec, err := range r.table.Scan(ctx, snap, scan) {
		if err != nil {
			return err
		}
		err := out.each(rec, func(start, end int) error {
			made, err := out.record(rec, start, end)
			if err != nil {
				return err
			}
			defer made.Release()
			turn++
			return callbacks[turn%len(callbacks)](ctx, made)
		})
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// projected returns the concrete columns in a projection, all without one.
func (r reader) projected(snap *columnstore.Snapshot, projection []logicalplan.Expr) ([]string, error) {
	columns, err := r.table.Columns(snap)
	if err != nil || len(projection) == 0 {
		return columns, err
	}
	return slices.DeleteFunc(columns, func(name string) bool {
		return !slices.ContainsFunc(projection, func(e logicalplan.Expr) bool { return e.MatchColumn(name) })
	}), nil
}

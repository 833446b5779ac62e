package peers

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/polarsignals/frostdb/query/logicalplan"

	"github.com/granarydb/granary/profile"
)

// OpenParca opens FrostDB with Parca's schema.
func OpenParca() (*FrostDB, error) {
	p, err := openFrost(parcaDefinition())
	if err != nil {
		return nil, err
	}
	return p.(*FrostDB), nil
}

// VisitRecords scans all rows and columns to Arrow. It calls visit for each record with its
// rows and the sum of their values.
func (f *FrostDB) VisitRecords(visit func(rows, sum int64)) error {
	var columns []logicalplan.Expr
	for _, c := range f.definition.Columns {
		if c.Dynamic {
			columns = append(columns, logicalplan.DynCol(c.Name))
		} else {
			columns = append(columns, logicalplan.Col(c.Name))
		}
	}
	return f.scan(nil).Project(columns...).Execute(context.Background(), func(_ context.Context, r arrow.Record) error {
		sum := int64(0)
		for _, v := range frostColumn(r, profile.ColumnValue).(*array.Int64).Int64Values() {
			sum += v
		}
		visit(r.NumRows(), sum)
		return nil
	})
}

// VisitStacks sums all values by stack and calls visit with each stack's sum.
func (f *FrostDB) VisitStacks(visit func(sum int64)) error {
	return f.group(profile.ColumnStacktrace, nil, func(_ arrow.Array, _ int, sum, _ int64) { visit(sum) })
}

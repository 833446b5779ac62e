package query

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/arrowconv"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/internal/querytest"
)

var recordForms = []arrowconv.Form{arrowconv.FormDictionary, arrowconv.FormNative, arrowconv.FormPlain}

// scanned is Scan as a sequence. An error is its last element.
func scanned(ctx context.Context, r *filter.Read, opts ScanOptions) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := Scan(ctx, r, opts, func(rec arrow.Record) bool { return yield(rec, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// scanRows returns the rows of a scan.
func scanRows(t *testing.T, r *filter.Read, opts ScanOptions) (rows []oracle.Row) {
	t.Helper()
	for rec, err := range scanned(t.Context(), r, opts) {
		if err != nil {
			t.Fatal(err)
		}
		of, err := querytest.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, of...)
		rec.Release()
	}
	return rows
}

// scanError returns the error of a scan, which must be its last element.
func scanError(t *testing.T, ctx context.Context, r *filter.Read, opts ScanOptions) (found error) {
	t.Helper()
	for rec, err := range scanned(ctx, r, opts) {
		if found != nil {
			t.Errorf("the scan went on after %v", found)
		}
		if found = err; err == nil {
			rec.Release()
		} else if rec != nil {
			t.Errorf("a record with error %v", err)
		}
	}
	return found
}

// wantError checks an error and its text.
func wantError(t *testing.T, err, sentinel error, text string) {
	t.Helper()
	if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v; want %q with %q", err, sentinel, text)
	}
}

// filled returns a table with n wide rows in fresh parts, base parts and several generations.
func filled(t *testing.T, opts querytest.Options, n int) (*querytest.Table, []oracle.Row) {
	t.Helper()
	table := querytest.Open(t, opts, querytest.Wide(100, querytest.WideKey))
	rng := rand.New(rand.NewPCG(11, 12))
	rows := querytest.RandomRows(rng, n)
	for half := range 2 {
		for batch := range slices.Chunk(rows[half*n/2:(half+1)*n/2], 50) {
			table.Insert(querytest.BatchOf(rng, batch))
		}
		if half == 0 {
			table.Compact()
		}
	}
	return table, rows
}

// between is a condition on times: from <= time < to.
func between(from, to int64) filter.Expr {
	return filter.And(filter.AtLeast("time", from), filter.Less("time", to))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

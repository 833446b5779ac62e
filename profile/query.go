package profile

import (
	"fmt"
	"regexp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
)

// Query says which profiles and samples a question is about. The zero Query is about all.
// It may be used by any number of goroutines.
//
// One profile is that of its time: From: t, To: t+1, with a Selector of its labels
// (DB.Profiles says which there are). One trace or span is the Selector
// {trace_id="..."} or {span_id="..."}, with its id as the profiles have it
// (DB.InsertEncoded says which spelling is fast).
type Query struct {
	// Selector chooses by label.
	Selector Selector
	// From and To bound the profiles' times in Unix nanoseconds: From <= time
	// < To. Zero means no bound.
	From, To int64
	// Function chooses the samples with a function in their stack whose name it matches:
	// any frame's Function. It is not anchored; nil chooses all. It is tried once for each
	// distinct name, and costs 50 to 150 ns for each distinct stack of the generations of
	// the query, or less if few series are left. Each generation has its own
	// record of a location: one that came there without symbols, in an Arrow record, is
	// "<unknown>" here, whatever others know.
	Function *regexp.Regexp
	// MaxBytes bounds the memory of an answer for groups and their results, by
	// account; beyond it the error is columnstore.ErrQueryMemory. 0 or less means no bound.
	// It is for questions that read rows, each of the two that some need by itself. It
	// does not count the results of an answer's methods, nor the stacks of DB.Profile.
	MaxBytes int64
}

// Expr returns the query as a condition on rows, of the given types if there
// are any. It is safe for concurrent use.
func (q Query) Expr(types ...Type) columnstore.Expr {
	all := []columnstore.Expr{q.Selector.Expr()}
	if len(types) > 0 {
		either := make([]columnstore.Expr, len(types))
		for i, t := range types {
			either[i] = columnstore.And(
				columnstore.Equal(ColumnSampleType, t.Sample),
				columnstore.Equal(ColumnSampleUnit, t.SampleUnit),
				columnstore.Equal(ColumnPeriodType, t.Period),
				columnstore.Equal(ColumnPeriodUnit, t.PeriodUnit),
			)
		}
		all = append(all, columnstore.Or(either...))
	}
	if q.From != 0 {
		all = append(all, columnstore.AtLeast(ColumnTimestamp, q.From))
	}
	if q.To != 0 {
		all = append(all, columnstore.Less(ColumnTimestamp, q.To))
	}
	if q.Function != nil {
		all = append(all, hasFunction(q.Function))
	}
	return columnstore.And(all...)
}

// fits says whether an answer of so many bytes and the groups that it is made of are
// within MaxBytes.
func (q Query) fits(groups *columnstore.Groups, answer int) error {
	if q.MaxBytes <= 0 {
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
	if int64(bytes) > q.MaxBytes {
		return fmt.Errorf("%w: %d bytes for %d groups, at most %d", columnstore.ErrQueryMemory, bytes, rows, q.MaxBytes)
	}
	return nil
}

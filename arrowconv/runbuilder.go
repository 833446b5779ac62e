package arrowconv

import (
	"math"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"
	"github.com/apache/arrow/go/v14/arrow/memory"
)

// runBuilder has the run ends of a run-end encoded column: run i ends before row ends[i]. The column's
// cells are the values of the runs.
type runBuilder struct {
	typ   arrow.DataType // of the column
	ends  buffer         // int32
	rows  int
	nulls int // rows of null runs
}

// add appends n equal rows. cell appends their value to cells. If the value equals the previous run's
// value, add extends that run (A6).
func (r *runBuilder) add(cells *cells, n int, cell func() error) error {
	if n > math.MaxInt32-r.rows {
		return errLarge
	}
	if err := cell(); err != nil {
		return err
	}
	last := cells.n - 1
	r.rows += n
	if cells.validity.is(last) {
		r.nulls += n
	}
	if last > 0 && cells.equal(last-1, last) {
		cells.drop()
		putInt32(r.ends.bytes()[r.ends.n-4:], int32(r.rows))
		return nil
	}
	putInt32(r.ends.grow(4), int32(r.rows))
	return nil
}

// take makes array data of the runs and their values. The caller releases it, and the values.
func (r *runBuilder) take(values *array.Data) *array.Data {
	rows, n := r.rows, r.ends.n/4
	ends := newData(endsType, n, 0, nil, r.ends.take())
	defer ends.Release()
	r.rows, r.nulls = 0, 0
	return array.NewData(r.typ, rows, []*memory.Buffer{nil}, []arrow.ArrayData{ends, values}, 0, 0)
}

func (r *runBuilder) reset() {
	r.ends.release()
	r.rows, r.nulls = 0, 0
}

package schema

import "fmt"

// CheckCodes returns ErrBatch if a code in the batch is greater than series or lists, the greatest codes
// that were given out, or if coded is false and the batch has list codes. columns is the result of
// CheckInto.
func (b *Batch) CheckCodes(columns []Concrete, coded bool, series, lists uint32) error {
	if b.Series > series {
		return fmt.Errorf("%w: series %d of %d", ErrBatch, b.Series, series)
	}
	for i := range columns {
		values := &columns[i].Values
		if values.Codes != nil && !coded {
			return fmt.Errorf("%w: column %q has codes: use Codes.Insert", ErrBatch, columns[i].Name)
		}
		for row, code := range values.Codes {
			if code > lists && !values.Null(row) {
				return fmt.Errorf("%w: column %q row %d: list %d of %d", ErrBatch, columns[i].Name, row, code, lists)
			}
		}
	}
	return nil
}

package means

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/internal/query"
)

// Division divides the sums of groups. It belongs to one goroutine.
type Division struct {
	Groups *query.Groups
	// Columns are the indexes of the columns that tell means apart. In each list the first column with a
	// value counts. Rows that differ only in other columns, such as sources, are added up.
	Columns [][]int
	// Stack is the index of the stack column, which is alone in its list in Columns, or -1.
	Stack int
	// Times returns the divisor of a row's sum, or 0 if the sum is not divided.
	Times func(row int) int64
	// Apart reports that no two rows have equal values in Columns.
	Apart bool
}

// Divide replaces the sums by means. Rows with equal values in Columns have one mean, which goes to the
// first of them; the others get 0. The rounding error of a mean is carried to the next row that differs
// only in its stack, so that a part is less than 1 from its mean, and a total is rounded once. Without
// that, ten stacks with a mean of a tenth each would all be 0. Stacks are in the order of the hashes of
// their ids.
//
// It costs about 100 ns a row, and twice that if means are rounded.
func (d *Division) Divide() {
	times := make([]int64, len(d.Groups.Sums))
	for row := range times {
		times[row] = d.Times(row)
	}
	exacts := d.exacts(times)
	others := slices.DeleteFunc(slices.Clone(d.Columns), func(of []int) bool { return of[0] == d.Stack })
	totals := map[string]exact{}
	var key []byte
	for _, row := range d.inOrder(exacts) {
		if times[row] == 0 {
			continue
		}
		key = appendKey(key[:0], d.Groups, others, row)
		before := totals[string(key)]
		after := before.plus(exacts[row])
		totals[string(key)] = after
		d.Groups.Sums[row] = after.rounded() - before.rounded()
	}
}

// exacts returns the means by row, each at its first row.
func (d *Division) exacts(divisors []int64) []exact {
	exacts := make([]exact, len(d.Groups.Sums))
	var of []Total            // unless each row is a mean
	var rows []int            // first row of each mean
	first := map[string]int{} // index in rows, by key
	var key []byte
	for row, sum := range d.Groups.Sums {
		times := divisors[row]
		if times == 0 {
			continue
		}
		if d.Apart {
			exacts[row] = quotient(sum, times)
			continue
		}
		key = appendKey(key[:0], d.Groups, d.Columns, row)
		i, known := first[string(key)]
		if !known {
			i, first[string(key)] = len(of), len(of)
			of, rows = append(of, Total{}), append(rows, row)
		}
		of[i].Add(sum, times)
	}
	for i := range of {
		exacts[rows[i]] = of[i].exact()
	}
	return exacts
}

// inOrder returns the rows, ordered by the ids of their stacks if a mean must be rounded.
func (d *Division) inOrder(exacts []exact) []int {
	rows := make([]int, len(exacts))
	for i := range rows {
		rows[i] = i
	}
	if d.Stack < 0 || !slices.ContainsFunc(exacts, func(e exact) bool { return e.fraction != 0 }) {
		return rows
	}
	stacks, hashes := &d.Groups.Columns[d.Stack], make([]uint64, len(rows))
	var ids []uuid.UUID
	var key []byte
	for row, code := range stacks.Codes {
		ids, key = stacks.Lists.UUIDs(ids[:0], code), key[:0]
		for i := range ids {
			key = append(key, ids[i][:]...)
		}
		hashes[row] = xxh3.Hash(key)
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Or(cmp.Compare(hashes[a], hashes[b]), cmp.Compare(a, b)) })
	return rows
}

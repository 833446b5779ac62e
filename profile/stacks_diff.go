package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"

	"github.com/granarydb/granary/encoding/dict"
)

// Diff returns the values of after minus those of before, by stack. Values that fell are
// negative. Stacks with equal values are left out. Two stacks are the same if their locations
// are, even in different snapshots or stores. Diff changes neither argument. The result has the
// type of after.
//
// It is the difference that go tool pprof -base and -diff_base show. The percentages of -base
// are shares of the Magnitude of the result, those of -diff_base of the Magnitude of before, or
// of after if that is 0. Values are not scaled: if one answer covers a longer time, its sums are
// greater, see Normalize and Scale. A flame graph of both sides is drawn from that of after with
// that of before as its base (package render).
//
// The error is ErrMixed if the sample types or units differ, or Query.Hide or Show of the
// answers. Diff costs about 1 us a stack, and 20 bytes a stack beside the memory of both
// answers.
func Diff(before, after *Stacks) (*Stacks, error) {
	if err := checkSides(before, after); err != nil {
		return nil, err
	}
	d := differ{
		symbols: newSymbols(dict.ListView{}, nil),
		index:   make(map[xxh3.Uint128]uint32, max(before.Len(), after.Len())),
		seed:    rand.Uint64(),
	}
	d.symbols.lists, d.symbols.refs = nil, []stackRef{}
	for _, side := range []*Stacks{before, after} {
		if f := side.known().filter; f != nil && side.Len() > 0 {
			d.symbols.filter = &frameFilter{f.hide.again(), f.show.again()}
		}
	}
	d.add(before, -1)
	d.add(after, 1)
	d.symbols.stacks = make([]uint32, len(d.symbols.refs))
	for i := range d.symbols.stacks {
		d.symbols.stacks[i] = uint32(i)
	}
	return newStacks(after.Type, d.symbols, d.symbols.stacks, d.values), nil
}

// checkSides returns ErrMixed if values of the two answers have no difference.
func checkSides(before, after *Stacks) error {
	if b, a := before.Type, after.Type; b.Sample != a.Sample || b.SampleUnit != a.SampleUnit {
		return fmt.Errorf("%w: %v before, %v after", ErrMixed, b, a)
	}
	if !before.known().filter.equal(after.known().filter) && before.Len() > 0 && after.Len() > 0 {
		return fmt.Errorf("%w: the answers leave out different frames", ErrMixed)
	}
	return nil
}

// FunctionChange is a function with its cost before and after, and the change: After minus
// Before.
type FunctionChange struct {
	Function
	Before FunctionCost `json:"before"`
	After  FunctionCost `json:"after"`
}

// FunctionCost is the cost of a function on one side of a difference. Flat and Cum are as in
// Function.
type FunctionCost struct {
	Flat int64 `json:"flat"`
	Cum  int64 `json:"cum"`
}

// DiffTop returns the functions whose cost changed, in the order of Top: those of the Top of
// Diff whose Flat or Cum is not 0, each with both sides. The slice belongs to the caller. The
// errors are those of Diff. DiffTop costs as much as Top of both answers.
func DiffTop(before, after *Stacks) ([]FunctionChange, error) {
	if err := checkSides(before, after); err != nil {
		return nil, err
	}
	index := map[string]int{}
	var changes []FunctionChange
	for _, f := range before.Top() {
		index[f.Name] = len(changes)
		changes = append(changes, FunctionChange{Function{f.Name, -f.Flat, -f.Cum}, FunctionCost{f.Flat, f.Cum}, FunctionCost{}})
	}
	for _, f := range after.Top() {
		i, known := index[f.Name]
		if !known {
			i = len(changes)
			changes = append(changes, FunctionChange{Function: Function{Name: f.Name}})
		}
		c := &changes[i]
		c.After = FunctionCost{f.Flat, f.Cum}
		c.Flat, c.Cum = c.Flat+f.Flat, c.Cum+f.Cum
	}
	changes = slices.DeleteFunc(changes, func(c FunctionChange) bool { return c.Flat == 0 && c.Cum == 0 })
	slices.SortFunc(changes, func(a, b FunctionChange) int { return a.compare(b.Function) })
	return changes, nil
}

// differ sums the stacks of several answers. It identifies a stack by the 128-bit xxh3 of its
// locations, keyed by a random seed, as the store does.
type differ struct {
	symbols *symbols
	values  []int64 // by index in symbols.refs
	index   map[xxh3.Uint128]uint32
	seed    uint64

	ids   []uuid.UUID // scratch
	bytes []byte
}

// add adds the values of an answer, multiplied by sign.
func (d *differ) add(s *Stacks, sign int64) {
	from, base := s.known(), uint32(len(d.symbols.lists))
	d.symbols.lists = append(d.symbols.lists, from.lists...)
	for i, code := range s.codes {
		ref := from.ref(code)
		d.ids = from.lists[ref.lists].UUIDs(d.ids[:0], ref.code)
		d.bytes = d.bytes[:0]
		for k := range d.ids {
			d.bytes = append(d.bytes, d.ids[k][:]...)
		}
		hash := xxh3.Hash128Seed(d.bytes, d.seed)
		at, known := d.index[hash]
		if !known {
			at = uint32(len(d.symbols.refs))
			d.index[hash] = at
			d.symbols.refs = append(d.symbols.refs, stackRef{base + ref.lists, ref.code})
			d.values = append(d.values, 0)
		}
		d.values[at] += sign * s.values[i]
	}
}

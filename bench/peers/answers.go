package peers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// rowsOf writes each row in a batch as text: its values other than null, by column name.
func rowsOf(b schema.Batch, add func(string)) {
	names := slices.Sorted(maps.Keys(b.Columns))
	for i := range b.Rows {
		var row strings.Builder
		for _, name := range names {
			if value := Cell(b.Columns[name], i); value != nil {
				fmt.Fprintf(&row, "%s=%v ", name, value)
			}
		}
		add(row.String())
	}
}

// Cell returns a row's value, nil for null. An empty string is null. A vector with one element has it in
// every row.
func Cell(v encoding.Vector, row int) any {
	if v.Len() == 1 {
		row = 0
	}
	if v.Null(row) {
		return nil
	}
	switch v.Type {
	case encoding.String:
		if v.Strings[row] == "" {
			return nil
		}
		return v.Strings[row]
	case encoding.UUID:
		return v.UUIDs[row]
	case encoding.UUIDList:
		return v.UUIDLists[row]
	default:
		return v.Int64s[row]
	}
}

// Digest identifies an answer. The order of its elements does not matter.
type Digest struct {
	// Elements is the number of elements.
	Elements int64
	sum      uint64
}

// Add adds an element.
func (d *Digest) Add(element string) {
	d.Elements++
	d.sum += hashText(element)
}

// hashText is FNV-1a. Unlike maphash it gives the same sum in every process.
func hashText(text string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return h
}

// String returns the number of elements and their hash.
func (d *Digest) String() string { return fmt.Sprintf("%d elements, %016x", d.Elements, d.sum) }

// Answer returns a store's answer to a question: how often it has each element.
func Answer(p Store, q Question) (map[string]int, error) {
	all := map[string]int{}
	if err := q.Ask(p, func(element string) { all[element]++ }); err != nil {
		return nil, fmt.Errorf("%s: %w", q.Name, err)
	}
	return all, nil
}

// FirstDifferent returns the first element that only got has, and the first that only want has, one a line.
func FirstDifferent(got, want map[string]int) string {
	var lines []string
	for _, side := range []struct {
		sign        string
		have, other map[string]int
	}{{"+", got, want}, {"-", want, got}} {
		for _, element := range slices.Sorted(maps.Keys(side.have)) {
			if side.have[element] != side.other[element] {
				lines = append(lines, side.sign+element)
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

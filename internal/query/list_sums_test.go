package query

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Sums by list are those of a map: of a hash table, of one that became an array, of an
// array from the start, of several put together; with counts and without. What has been
// summed in is zero for the next.
func TestListSums(t *testing.T) {
	const most = 5000
	memory := &queryMemory{ctx: t.Context(), most: math.MaxInt64}
	rng := rand.New(rand.NewPCG(1, 8))
	for _, test := range []struct {
		name         string
		hint         int // rows that come at first
		rows, others int
		array, after bool // at first, and in the end
	}{
		{"hash table", 10, 100, 50, false, false},
		{"becomes an array", 10, 5000, 0, false, true},
		{"array", most / 2, 3000, 0, true, true},
		{"array of few rows", most / 2, 3, 0, true, true},
		{"two arrays", most / 2, 3000, 3000, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 3 {
				want := map[uint32]tally{}
				filled := func(rows int) *listSums {
					s := newListSums(most, test.hint)
					if isArray := s.codes == nil; isArray != test.array {
						t.Fatalf("an array at first: %v", isArray)
					}
					codes, values := make([]uint64, rows), make([]uint64, rows)
					for i := range codes {
						codes[i], values[i] = uint64(rng.IntN(most+1)), uint64(rng.IntN(100)-50)
						c := want[uint32(codes[i])]
						c.add(tally{int64(values[i]), 1})
						want[uint32(codes[i])] = c
					}
					if err := s.add(codes, values, memory); err != nil {
						t.Fatal(err)
					}
					return s
				}
				s := filled(test.rows)
				if test.others > 0 {
					other := filled(test.others)
					if err := s.merge(other, nil, nil, memory); err != nil {
						t.Fatal(err)
					}
					other.done()
				}
				if isArray := s.codes == nil; isArray != test.after {
					t.Fatalf("an array in the end: %v", isArray)
				}
				checkMoved(t, s, want, memory, rng.IntN(2) == 0)
			}
		})
	}
}

// checkMoved moves sums behind those of others that are there, and gives them back.
func checkMoved(t *testing.T, s *listSums, want map[uint32]tally, memory *queryMemory, counted bool) {
	t.Helper()
	n := s.len()
	for code := range uint32(s.most + 1) {
		if _, has := want[code]; s.has(code) != has {
			t.Fatalf("it has list %d: %v", code, !has)
		}
	}
	codes, sums, counts := append(make([]uint32, 0, n+2), 7), append(make([]int64, 0, n+2), 8), []int64(nil)
	if counted {
		counts = append(make([]int64, 0, n+2), 9)
	}
	codes, sums, counts, err := s.moveTo(codes, sums, counts, memory)
	if err != nil || n != len(want) || len(codes) != n+1 || len(sums) != n+1 || counted && len(counts) != n+1 || !counted && counts != nil {
		t.Fatalf("%d of %d lists: %d codes, %d sums, %d counts, %v", n, len(want), len(codes), len(sums), len(counts), err)
	}
	if codes[0] != 7 || sums[0] != 8 || counted && counts[0] != 9 {
		t.Errorf("what was there is %d, %d, %d", codes[0], sums[0], counts[0])
	}
	for i, code := range codes[1:] {
		if sums[i+1] != want[code].sum || counted && counts[i+1] != want[code].count {
			t.Fatalf("list %d has sum %d, want %+v", code, sums[i+1], want[code])
		}
		delete(want, code) // it comes once
	}
	cells := s.cells
	s.done()
	for i, c := range cells[:cap(cells)] {
		if c != (tally{}) {
			t.Fatalf("cell %d is given back as %+v", i, c)
		}
	}
}

package encoding

import "github.com/google/uuid"

// Vector is a column of plain values. Type selects the slice in use, which has one element per row. Values
// enter the store and leave it as vectors.
//
// Valid also has one element per row: false for a null, which is a row without a value, whose element is
// ignored. nil means that no row is null. A column takes nulls if it is nullable or dynamic:
//
//	Vector{Type: Int64, Int64s: []int64{7, 0, 9}, Valid: []bool{true, false, true}}
//
// A Vector has one owner at a time; a function that takes a Vector documents whether it keeps it.
type Vector struct {
	Type      Type
	Valid     []bool
	Int64s    []int64
	Uint64s   []uint64
	Float64s  []float64
	Bools     []bool
	Strings   []string
	UUIDs     []uuid.UUID
	UUIDLists [][]uuid.UUID
	// Offsets, if not nil, replaces UUIDLists: row i's list is UUIDs[Offsets[i]:Offsets[i+1]]. There is
	// one more offset than rows, and none is less than the previous one, as in Arrow.
	Offsets []int32
	// Codes, if not nil, replaces UUIDLists: the lists' codes in a dictionary that the recipient of the
	// vector knows.
	Codes []uint32
}

// Int64s makes a vector of type Int64 that shares the slice.
func Int64s(values ...int64) Vector { return Vector{Type: Int64, Int64s: values} }

// Uint64s makes a vector of type Uint64 that shares the slice.
func Uint64s(values ...uint64) Vector { return Vector{Type: Uint64, Uint64s: values} }

// Float64s makes a vector of type Float64 that shares the slice.
func Float64s(values ...float64) Vector { return Vector{Type: Float64, Float64s: values} }

// Bools makes a vector of type Bool that shares the slice.
func Bools(values ...bool) Vector { return Vector{Type: Bool, Bools: values} }

// Strings makes a vector of type String that shares the slice.
func Strings(values ...string) Vector { return Vector{Type: String, Strings: values} }

// UUIDs makes a vector of type UUID that shares the slice.
func UUIDs(values ...uuid.UUID) Vector { return Vector{Type: UUID, UUIDs: values} }

// UUIDLists makes a vector of type UUIDList that shares the slice.
func UUIDLists(values ...[]uuid.UUID) Vector { return Vector{Type: UUIDList, UUIDLists: values} }

// ListCodes makes a vector of type UUIDList from codes. It shares the slice.
func ListCodes(codes ...uint32) Vector { return Vector{Type: UUIDList, Codes: codes} }

// Len returns the number of rows.
func (v *Vector) Len() int {
	switch v.Type {
	case Int64:
		return len(v.Int64s)
	case Uint64:
		return len(v.Uint64s)
	case Float64:
		return len(v.Float64s)
	case Bool:
		return len(v.Bools)
	case String:
		return len(v.Strings)
	case UUID:
		return len(v.UUIDs)
	case UUIDList:
		return max(len(v.UUIDLists), len(v.Codes), len(v.Offsets)-1)
	}
	return 0
}

// List returns row i's list, in a vector of lists that are not codes. It shares the vector's memory.
func (v *Vector) List(i int) []uuid.UUID {
	if v.Offsets != nil {
		return v.UUIDs[v.Offsets[i]:v.Offsets[i+1]:v.Offsets[i+1]]
	}
	return v.UUIDLists[i]
}

// Null reports whether row i has no value.
func (v *Vector) Null(i int) bool { return v.Valid != nil && !v.Valid[i] }

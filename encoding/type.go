package encoding

import "fmt"

// Type is the logical type of a column's values.
type Type uint8

// The types of the store. Images have these numbers, which never change.
const (
	// Int64 is a signed 64-bit integer.
	Int64 Type = 1
	// Uint64 is an unsigned 64-bit integer.
	Uint64 Type = 2
	// Float64 is an IEEE 754 double.
	Float64 Type = 3
	// Bool is true or false.
	Bool Type = 4
	// String is UTF-8 text.
	String Type = 5
	// UUID is 16 bytes.
	UUID Type = 6
	// UUIDList is a list of UUIDs, such as a stack, which is the list of its locations.
	UUIDList Type = 7
)

var typeNames = [...]string{"", "int64", "uint64", "float64", "bool", "string", "uuid", "uuid list"}

// String returns the type's name, for error messages.
func (t Type) String() string {
	if !t.Known() {
		return fmt.Sprintf("type(%d)", uint8(t))
	}
	return typeNames[t]
}

// Known reports whether t is a type of the store.
func (t Type) Known() bool { return t >= Int64 && t <= UUIDList }

// Fixed reports whether a value of the type is its own word, without a dictionary or bytes
// outside the column.
func (t Type) Fixed() bool { return t >= Int64 && t <= Bool }

// Encoding is the way in which a schema stores a column.
type Encoding uint8

// The encodings of schemas. Images have these numbers, which never change.
const (
	// Plain stores every row's value. Integers are packed to the narrowest width if that is smaller. Strings
	// and UUIDs are kept as bytes, for columns whose values rarely repeat (trace ids).
	Plain Encoding = 1
	// Dictionary stores every row's dictionary code, bit-packed.
	Dictionary Encoding = 2
	// RLE stores runs of equal values.
	RLE Encoding = 3
	// DictionaryRLE stores runs of equal dictionary codes.
	DictionaryRLE Encoding = 4
	// Delta stores differences between neighbours: timestamps, counters.
	Delta Encoding = 5
)

var encodingNames = [...]string{"", "plain", "dictionary", "rle", "dictionary+rle", "delta"}

// String returns the encoding's name, for error messages.
func (e Encoding) String() string {
	if !e.Known() {
		return fmt.Sprintf("encoding(%d)", uint8(e))
	}
	return encodingNames[e]
}

// Known reports whether e is an encoding of schemas.
func (e Encoding) Known() bool { return e >= Plain && e <= Delta }

// Coded reports whether the encoding keeps values in a dictionary and only their codes in the column.
func (e Encoding) Coded() bool { return e == Dictionary || e == DictionaryRLE }

// Fits reports whether values of type t can be stored with the encoding. Strings and UUIDs are
// plain or coded, lists are always coded, and fixed types never are.
func (e Encoding) Fits(t Type) bool {
	switch {
	case !e.Known() || !t.Known():
		return false
	case t.Fixed():
		return !e.Coded()
	case t == UUIDList:
		return e.Coded()
	default:
		return e.Coded() || e == Plain
	}
}

package names

import (
	"errors"
	"fmt"
	"math"
)

// Attribute is a place in a system that has a state at every instant: a thread, a CPU's register, a queue's
// length. Attributes are numbered from 0 in the order of their creation.
type Attribute uint32

// Top is the parent of the attributes at the top. It is not an attribute.
const Top Attribute = math.MaxUint32

// unknown returns the error for an unknown attribute.
func unknown(a Attribute) error { return fmt.Errorf("%w: %s", ErrAttribute, describe(a)) }

func describe(a Attribute) string {
	if a == Top {
		return "the root"
	}
	return fmt.Sprintf("attribute %d", uint32(a))
}

// The errors of a tree. An error that wraps one of these names the attribute. An error means that nothing
// happened.
var (
	// ErrAttribute is returned for an unknown attribute.
	ErrAttribute = errors.New("unknown attribute")
	// ErrLimit is returned for a name that is too long or not valid text, and for too many attributes.
	ErrLimit = errors.New("beyond a limit")
	// ErrQuery is returned for an invalid expression.
	ErrQuery = errors.New("invalid question")
)

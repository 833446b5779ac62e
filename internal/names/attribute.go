package names

import (
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

package names

import (
	"fmt"
	"math"
)

// Attribute is a place of a system that has a state at every instant: a thread, a
// register of a CPU, a queue's length. Attributes are numbered from 0 in the order in
// which they were created.
type Attribute uint32

// Top is the parent of the attributes at the top. It is no attribute itself.
const Top Attribute = math.MaxUint32

// unknown returns the error for an unknown attribute.
func unknown(a Attribute) error { return fmt.Errorf("%w: %s", ErrAttribute, describe(a)) }

func describe(a Attribute) string {
	if a == Top {
		return "the root"
	}
	return fmt.Sprintf("attribute %d", uint32(a))
}

package history

import (
	"fmt"
)

// maxDepth bounds stacks and queues.
const maxDepth = 100_000

func depthOf(a Attribute, v Value) (int, error) {
	switch {
	case v.IsNull():
		return 0, nil
	case v.Kind() != KindInt:
		return 0, fmt.Errorf("%w: attribute %d is %v, a depth is an int", ErrKind, a, v.Kind())
	case v.Int() < 0 || v.Int() > maxDepth:
		return 0, fmt.Errorf("%w: attribute %d is %d", ErrDepth, a, v.Int())
	}
	return int(v.Int()), nil
}

func depthValue(depth int) Value {
	if depth == 0 {
		return Value{}
	}
	return Int(int64(depth))
}

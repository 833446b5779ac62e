package tracks

// ending is the end of a slice in a row.
type ending struct {
	t   int64
	row uint32
}

// endings is a heap of ends, the next first. Package container/heap would allocate for each.
type endings []ending

func (e *endings) push(x ending) {
	h := append(*e, x)
	at := len(h) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if h[parent].t <= x.t {
			break
		}
		h[at] = h[parent]
		at = parent
	}
	h[at] = x
	*e = h
}

func (e *endings) pop() ending {
	h := *e
	next, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*e = h
	if len(h) == 0 {
		return next
	}
	at := 0
	for {
		child := 2*at + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].t < h[child].t {
			child++
		}
		if h[child].t >= x.t {
			break
		}
		h[at] = h[child]
		at = child
	}
	h[at] = x
	return next
}

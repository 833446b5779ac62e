package selector

// Limits on a selector. Prometheus has none. Each limit bounds memory that the input controls.
const (
	// MaxText bounds a selector in bytes. A dashboard lists the pods of a cluster in one pattern: the limit
	// has room for 5,000 names of 50 bytes.
	MaxText = 256 << 10
	// MaxMatchers bounds the matchers of a selector, because each becomes several conditions on every series.
	MaxMatchers = 1 << 10
	// MaxProgram bounds the instructions and character ranges of all patterns of a selector; each takes 40
	// bytes once compiled. A text of MaxText bytes stays below it unless the text counts repetitions or names
	// classes: x{1000} is 1,000 instructions.
	MaxProgram = 1 << 20
)

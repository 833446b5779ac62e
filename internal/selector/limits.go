package selector

// Limits on a selector. Prometheus has none; each bounds memory that input controls.
const (
	// MaxText bounds a selector in bytes. Dashboards list the pods of a cluster in one
	// pattern: there is room for 5,000 names of 50 bytes.
	MaxText = 256 << 10
	// MaxMatchers bounds the matchers of a selector: each becomes several conditions on
	// every series.
	MaxMatchers = 1 << 10
	// MaxProgram bounds the instructions and character ranges of all patterns of a
	// selector, of 40 bytes each once compiled. It exceeds those of a text of MaxText
	// bytes unless the text counts repetitions or names classes: x{1000} is 1,000
	// instructions.
	MaxProgram = 1 << 20
)

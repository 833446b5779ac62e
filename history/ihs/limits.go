package ihs

import "errors"

// Errors of sets. The text says what was wrong and at which interval or line.
var (
	// ErrFormat says that bytes are not a set, or that a set contradicts itself.
	ErrFormat = errors.New("not a valid interval set")
	// ErrLimit says that a set is beyond a limit.
	ErrLimit = errors.New("interval set is too large")
)

// maxGuess bounds what is allocated for a count before anything was read (S2).
const maxGuess = 64 << 10

// Limits bounds what a set may hold. A field that is 0 means its default.
type Limits struct {
	// Keys is the number of attributes. Default 16 Mi: sixteen times the most
	// that histories are measured with.
	Keys int
	// Intervals is the number of intervals, 29 bytes each in a Set.
	// Default 64 Mi.
	Intervals int
	// Text is the length of one string, in bytes. Default 64 KiB.
	Text int
	// Texts is the length of all distinct strings together, in bytes, each with 64
	// added for what it takes besides; and that of all lines of the file of
	// attributes. Default 256 MiB.
	Texts int
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&l.Keys, 16<<20)
	set(&l.Intervals, 64<<20)
	set(&l.Text, 64<<10)
	set(&l.Texts, 256<<20)
	return l
}

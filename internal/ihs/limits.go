package ihs

import (
	"cmp"
	"errors"
)

// Errors in sets. Their text names the fault and the interval or line.
var (
	// ErrFormat means that the input is not a set, or that a set contradicts itself.
	ErrFormat = errors.New("not a valid interval set")
	// ErrLimit means that a set exceeds a limit.
	ErrLimit = errors.New("interval set is too large")
)

// maxGuess bounds an allocation for a count whose data is not yet read (S2).
const maxGuess = 64 << 10

// Limits bounds the size of a set. A field that is 0 means its default.
type Limits struct {
	// Keys is the number of attributes. Default 16 Mi: sixteen times the largest benchmark of histories.
	Keys int
	// Intervals is the number of intervals, 29 bytes each in a Set. Default 64 Mi.
	Intervals int
	// Text is the length of a string, in bytes. Default 64 KiB.
	Text int
	// Texts is the total length of all distinct strings, in bytes, each with 64 bytes of overhead. It
	// also bounds the lines in the attribute file. Default 256 MiB.
	Texts int
}

func (l Limits) withDefaults() Limits {
	l.Keys = cmp.Or(l.Keys, 16<<20)
	l.Intervals = cmp.Or(l.Intervals, 64<<20)
	l.Text = cmp.Or(l.Text, 64<<10)
	l.Texts = cmp.Or(l.Texts, 256<<20)
	return l
}

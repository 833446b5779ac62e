package arrowconv

import "fmt"

// Form is the representation of repeated values in records. Engines differ in the forms that they read.
// The package comment has the Arrow types.
type Form uint8

const (
	// FormDictionary has dictionaries and no run-end encoding, as most engines read.
	FormDictionary Form = iota
	// FormNative has dictionaries, and run-end encoding in the fields that ask for it (Field.Runs). It is
	// the smallest and cheapest form. Few engines read it.
	FormNative
	// FormPlain has neither. Every row has its value.
	FormPlain
)

var formNames = [...]string{"dictionary", "native", "plain"}

// Known reports whether f is one of the forms.
func (f Form) Known() bool { return int(f) < len(formNames) }

// String returns the form's name in lower case.
func (f Form) String() string {
	if !f.Known() {
		return fmt.Sprintf("unknown form %d", uint8(f))
	}
	return formNames[f]
}

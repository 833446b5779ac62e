package arrowconv

import "fmt"

// Form is how values that repeat lie in the records of a Builder. Engines differ in
// what they read; docs of Field has the Arrow types.
type Form uint8

const (
	// Dictionary has dictionaries and no run-end encoding: what most engines read.
	Dictionary Form = iota
	// Native has dictionaries, and run-end encoding in the fields that ask for it
	// (Field.Runs): the smallest and the cheapest. Few engines read it.
	Native
	// Plain has neither: every row has its value.
	Plain
)

var formNames = [...]string{"dictionary", "native", "plain"}

// Known says whether f is one of the forms.
func (f Form) Known() bool { return int(f) < len(formNames) }

// String returns the name of the form in lower case.
func (f Form) String() string {
	if !f.Known() {
		return fmt.Sprintf("unknown form %d", uint8(f))
	}
	return formNames[f]
}

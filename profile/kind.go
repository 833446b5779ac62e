package profile

import "encoding/json"

// kind is the types of the profiles of one source, in their own order, and the type to show
// first. Rows keep neither the order nor that type.
type kind struct {
	Types   []Type
	Default int // index in Types
}

// note returns the kind as a note of the table. Notes also keep types whose values are all
// zero.
func (k kind) note() (string, error) {
	text, err := json.Marshal(k)
	return string(text), err
}

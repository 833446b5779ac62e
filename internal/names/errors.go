package names

import "errors"

// The errors of a tree. An error that wraps one of these names the attribute. An error means that nothing
// happened.
var (
	// ErrAttribute is returned for an unknown attribute.
	ErrAttribute = errors.New("unknown attribute")
	// ErrLimit is returned for a name that is too long or not valid text, and for too many attributes.
	ErrLimit = errors.New("beyond a limit")
	// ErrQuery is returned for an invalid expression.
	ErrQuery = errors.New("invalid question")
)

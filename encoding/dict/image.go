package dict

import "errors"

// ErrImage reports bytes that are not an image, or not one of what follows in a dictionary. Its
// text names what is wrong, and where.
var ErrImage = errors.New("malformed image")

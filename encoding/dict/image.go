package dict

import "errors"

// ErrImage reports bytes that are not an image, or an image that does not continue the dictionary.
// Its text names the fault and its place.
var ErrImage = errors.New("malformed image")

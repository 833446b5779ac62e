package pprof

import "errors"

// Errors of decoding and flattening.
var (
	// ErrProfile reports bytes that are not a pprof profile, or a profile that contradicts
	// itself.
	ErrProfile = errors.New("not a valid pprof profile")
	// ErrTooLarge reports a profile that exceeds a limit.
	ErrTooLarge = errors.New("profile is too large")
)

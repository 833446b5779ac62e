package pprof

import "errors"

// Errors of profiles that come in.
var (
	// ErrProfile says that bytes are not a pprof profile, or that a profile
	// contradicts itself.
	ErrProfile = errors.New("not a valid pprof profile")
	// ErrTooLarge says that a profile is beyond a limit.
	ErrTooLarge = errors.New("profile is too large")
)

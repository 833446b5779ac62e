package profile

import codec "github.com/granarydb/granary/profile/pprof"

// Errors of Parse and of inserts.
var (
	// ErrProfile reports bytes that are not a pprof profile, or a profile that contradicts
	// itself.
	ErrProfile = codec.ErrProfile
	// ErrTooLarge reports a profile that exceeds a limit.
	ErrTooLarge = codec.ErrTooLarge
)

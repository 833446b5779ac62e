package profile

import codec "github.com/granarydb/granary/profile/pprof"

// Errors of profiles that come in.
var (
	// ErrProfile says that bytes are not a pprof profile, or that a profile
	// contradicts itself.
	ErrProfile = codec.ErrProfile
	// ErrTooLarge says that a profile is beyond a limit.
	ErrTooLarge = codec.ErrTooLarge
)

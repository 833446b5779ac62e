package profile

import codec "github.com/granarydb/granary/profile/pprof"

// Errors of inserts.
var (
	// ErrProfile reports bytes that are not a pprof profile, or a profile that contradicts
	// itself.
	ErrProfile = codec.ErrProfile
	// ErrTooLarge reports a profile that exceeds a limit.
	ErrTooLarge = codec.ErrTooLarge
)

// Limits bounds a profile. A field that is 0 means its default: 64 MiB decompressed, 1,000,000 samples
// with 16,384 locations.
type Limits = codec.Limits

// maxKept bounds the bytes of a workspace that a DB keeps for later inserts.
const maxKept = 16 << 20

package profile

import (
	"fmt"

	pprof "github.com/google/pprof/profile"
)

// Parse decodes a pprof profile, gzipped or not. It reads at most
// limits.Bytes of it decompressed. Errors wrap ErrProfile or ErrTooLarge. To insert
// a profile, InsertEncoded does not need it.
func Parse(data []byte, limits Limits) (*pprof.Profile, error) {
	var w workspace
	if err := w.read(data, limits.WithDefaults()); err != nil {
		return nil, err
	}
	// The profile is within the limits by now: pprof's own parser knows none.
	p, err := pprof.ParseUncompressed(w.reader.Plain(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, nil
}

package profile

import (
	"fmt"

	pprof "github.com/google/pprof/profile"
)

// Parse decodes a pprof profile, gzipped or not, within the limits. It decompresses at most
// limits.Bytes. Errors wrap ErrProfile or ErrTooLarge. Inserts do not need Parse: see
// InsertEncoded.
func Parse(data []byte, limits Limits) (*pprof.Profile, error) {
	var w workspace
	if err := w.read(data, limits.WithDefaults()); err != nil {
		return nil, err
	}
	// The parser of google/pprof has no limits. w.read has applied them.
	p, err := pprof.ParseUncompressed(w.reader.Plain(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, nil
}

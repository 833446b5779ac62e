package profile

import (
	"fmt"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/rows"
	codec "github.com/granarydb/granary/profile/pprof"
)

// Errors of Parse and of inserts.
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

// Parse decodes a pprof profile, gzipped or not, within the limits. It decompresses at most limits.Bytes.
// Errors wrap ErrProfile or ErrTooLarge. Inserts do not need Parse: see InsertEncoded.
//
// A profile of google/pprof can take a hundred times its encoded bytes. Parse allocates at most 1 GiB,
// including memory that it frees again, and refuses profiles that need more. Such profiles have over
// 500,000 samples with labels, or over 1,000,000 with stacks of 30. InsertEncoded takes most of them.
func Parse(data []byte, limits Limits) (*pprof.Profile, error) {
	w := workspace{reader: codec.Reader{ToParse: true}}
	if err := w.read(data, limits.WithDefaults()); err != nil {
		return nil, err
	}
	w.flat = rows.Profile{} // not needed any more
	// The parser of google/pprof has no limits, but they have been checked.
	p, err := pprof.ParseUncompressed(w.reader.Plain(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, nil
}

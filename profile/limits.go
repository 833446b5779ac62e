package profile

import codec "github.com/granarydb/granary/profile/pprof"

// Limits bounds a profile. A field that is 0 means its default: 64 MiB decompressed, 1,000,000
// samples of 16,384 locations.
type Limits = codec.Limits

// A profile shares strings and locations; its rows do not. So these sums are bounded too: no
// hostile profile of 64 MiB in TestBombs takes more than 1 GiB to insert. The largest profiles
// in the field need far less than these limits.
const (
	// maxRecords bounds the bytes of all location records.
	maxRecords = 128 << 20
	// maxLabelBytes bounds the bytes of the labels of all rows.
	maxLabelBytes = 256 << 20
	// maxLabelCells bounds rows times distinct labels, 16 bytes each.
	maxLabelCells = 8 << 20
	// maxKept bounds the bytes of a workspace that a DB keeps for later inserts.
	maxKept = 16 << 20
)

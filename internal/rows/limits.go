package rows

// A profile shares strings and locations, but its rows do not, so these sums are bounded too. No hostile
// profile of 64 MiB in TestBombs of package profile takes more than 1 GiB to insert. The largest profiles
// in the field need far less than these limits.
const (
	// MaxRecords bounds the bytes of all location records.
	MaxRecords = 128 << 20
	// MaxLabelBytes bounds the bytes of the labels of all rows.
	MaxLabelBytes = 256 << 20
	// MaxLabelCells bounds rows times distinct labels, 16 bytes each.
	MaxLabelCells = 8 << 20
)

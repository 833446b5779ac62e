package profile

import (
	"github.com/granarydb/granary/internal/symbols"
	codec "github.com/granarydb/granary/profile/pprof"
	"github.com/granarydb/granary/profile/tree"
)

// Location is the code at one address, as the record of a location describes it.
type Location struct {
	Mapping string // file of the binary, empty if unknown
	BuildID string // of the binary, empty if unknown
	// Address is the address in the binary's file: the address in the process, minus the start of its
	// mapping, plus the mapping's offset.
	Address uint64
	Frames  []Frame // innermost first, at least one
}

// ErrLocation reports bytes that are not a location's record.
var ErrLocation = codec.ErrLocation

// DecodeLocation decodes a location's record, as passed to columnstore.ScanOptions.Elements and
// columnstore.HasElement. An empty record is a location without symbols, with "<unknown>" as its only
// frame. The Location belongs to the caller and shares no memory with the record. The error wraps
// ErrLocation. DecodeLocation costs about 1 us, and is safe for concurrent use.
func DecodeLocation(record []byte) (Location, error) {
	l, err := codec.ParseLocation(record)
	if err != nil {
		return Location{}, err
	}
	y := symbols.Of(l)
	var out Location
	out.Mapping, out.BuildID, out.Address = y.Place()
	for i := range y.Frames() {
		out.Frames = append(out.Frames, Frame(y.Frame(i)))
	}
	return out, nil
}

// Frame is a function call in a stack: Function, File, Line, Inlined and Mapping.
type Frame = tree.Frame

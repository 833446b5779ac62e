package profile

import (
	pprof "github.com/google/pprof/profile"

	codec "github.com/granarydb/granary/profile/pprof"
)

// Address is an address whose location has no lines, and where the binary that it is in is mapped.
type Address struct {
	Mapping string // file of the binary, empty if unknown
	BuildID string // of the binary, empty if unknown
	// Start is where the mapping starts, and Offset is the start's offset in the file. Address is in the process.
	Start, Offset, Address uint64
}

// namer returns Options.Names for records, or nil.
func (o *Options) namer() codec.Namer {
	if o.Names == nil {
		return nil
	}
	return func(m *pprof.Mapping, address uint64) (lines []codec.RecordLine) {
		at := Address{Mapping: m.File, BuildID: m.BuildID, Start: m.Start, Offset: m.Offset, Address: address}
		for _, f := range o.Names(at) {
			lines = append(lines, codec.RecordLine{
				NoFunction: f.Function == "", Function: f.Function, SystemName: f.Function, File: f.File, Line: f.Line,
			})
		}
		return lines
	}
}

package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// What fleets that are searched have beside the rows of newFleet, which stay as they
// are: names of functions, and ids of traces. Jobs and pods of all sizes have them.

// queryVariant is the fleet that queries are measured on.
var queryVariant = fleetVariant{symbols: true, traces: true}

// A location's record is its function's name, a zero byte, its file's name and its line.
// A function has two locations; in the real profiles of replayFolder, 2.1.
var (
	functionVerbs = []string{
		"Decode", "Encode", "Read", "Write", "Parse", "Format", "Open", "Close", "Get", "Set", "Add", "Remove", "Start", "Stop",
		"Merge", "Split", "Scan", "Seek", "Flush", "Sync", "Lock", "Wait", "Send", "Receive", "Handle", "Serve", "Dial", "Accept",
		"Commit", "Abort", "Insert", "Select", "Sort", "Hash", "Compress", "Expand", "Verify", "Sign", "Resolve", "Render",
	}
	functionNouns = []string{
		"Frame", "Header", "Body", "Request", "Response", "Message", "Batch", "Record", "Row", "Column", "Index", "Key", "Value",
		"Block", "Page", "Segment", "Stream", "Packet", "Token", "Node", "Tree", "Graph", "Edge", "Path", "Query", "Result", "Cache",
		"Buffer", "Pool", "Queue", "Job", "Task", "Event", "Metric", "Label", "Series", "Sample", "Profile", "Trace", "Span",
		"User", "Session", "Account", "Order", "Payment", "Image", "Template", "Document", "Config", "Secret",
	}
)

// fleetRecord returns the record of a location of fleetFunction.
func fleetRecord(id uuid.UUID) []byte {
	const unmix = 0xf1de83e19937733d // times 0x9e3779b97f4a7c15 it is 1
	owner, n := int(binary.BigEndian.Uint64(id[:])>>32), int(binary.BigEndian.Uint64(id[8:])*unmix)
	function := n / 2
	verb, noun := functionVerbs[function%len(functionVerbs)], functionNouns[function/len(functionVerbs)%len(functionNouns)]
	if owner == 0 {
		return fmt.Appendf(nil, "runtime.(*%s).%s%s\x00runtime/%s.go:%d", noun, verb, noun, verb, n)
	}
	job := owner - 1
	return fmt.Appendf(nil, "example.com/fleet/job-%d/internal/%s.%s%s\x00/src/job-%d/internal/%s/%s.go:%d", job, noun, verb, noun, job, noun, verb, n)
}

// records returns the records of all locations of some stacks. Each is made once.
func (f *fleet) records(stacks [][]uuid.UUID) map[uuid.UUID][]byte {
	records := make(map[uuid.UUID][]byte, 8*len(stacks))
	for _, stack := range stacks {
		for _, id := range stack {
			if records[id] != nil {
				continue
			}
			record, ok := f.symbols[id]
			if !ok {
				record = fleetRecord(id)
				f.symbols[id] = record
			}
			records[id] = record
		}
	}
	return records
}

// fleetTrace is the id of the trace that is searched for. It has ten rows: one in each
// of two types of five pods of two jobs, in the first scrape.
var fleetTrace = uuid.UUID{0xfe, 0xed, 0xfa, 0xce, 15: 1}

const (
	tracedProfiles = 4 // one profile in so many has trace ids, in all of its rows
	tracesAProfile = 8 // ids of its own, each in an eighth of the rows
)

// trace adds the column of trace ids, if any row of the profile has one. Its random
// numbers are its own, so that the other columns are those of a fleet without traces.
func (f *fleet) trace(b *schema.Batch, place fleetPlace) {
	rng := rand.New(rand.NewPCG(f.seed^0x7ace, place.draw()))
	v := encoding.UUIDs(make([]uuid.UUID, b.Rows)...)
	traced := rng.IntN(tracedProfiles) == 0
	if traced {
		var ids [tracesAProfile]uuid.UUID
		for i := range ids {
			binary.BigEndian.PutUint64(ids[i][:], rng.Uint64())
			binary.BigEndian.PutUint64(ids[i][8:], rng.Uint64())
		}
		for i := range v.UUIDs {
			v.UUIDs[i] = ids[rng.IntN(len(ids))]
		}
	}
	pod := place.job*f.variant.pods + place.pod
	special := place.scrape == 0 && place.kind < 2 && pod%2 == 0 && pod < 10
	if special {
		row := rng.IntN(b.Rows)
		v.UUIDs[row] = fleetTrace
		if !traced {
			v.Valid = make([]bool, b.Rows)
			v.Valid[row] = true
		}
	}
	if traced || special {
		b.Columns[profile.ColumnTraceID] = v
	}
}

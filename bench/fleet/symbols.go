package fleet

import (
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// Searchable is the fleet for measuring queries. It has function names and trace ids, so that both can be
// searched for.
var Searchable = Variant{Symbols: true, Traces: true}

// A location's record is its function's name, a zero byte, its file's name and its line. A function has two
// locations. In recorded profiles it has 2.1.
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

// symbolRecord returns the record for a location from drawLocation.
func symbolRecord(id uuid.UUID) []byte {
	const unmix = 0xf1de83e19937733d // the inverse of drawLocation's factor
	owner, n := int(binary.BigEndian.Uint64(id[:])>>32), int(binary.BigEndian.Uint64(id[8:])*unmix)
	function := n / 2
	verb, noun := functionVerbs[function%len(functionVerbs)], functionNouns[function/len(functionVerbs)%len(functionNouns)]
	if owner == 0 {
		return fmt.Appendf(nil, "runtime.(*%s).%s%s\x00runtime/%s.go:%d", noun, verb, noun, verb, n)
	}
	job := owner - 1
	return fmt.Appendf(nil, "example.com/fleet/job-%d/internal/%s.%s%s\x00/src/job-%d/internal/%s/%s.go:%d", job, noun, verb, noun, job, noun, verb, n)
}

// records returns the records for all locations in some stacks. A fleet makes each once.
func (f *Fleet) records(stacks [][]uuid.UUID) map[uuid.UUID][]byte {
	records := make(map[uuid.UUID][]byte, 8*len(stacks))
	for _, stack := range stacks {
		for _, id := range stack {
			if records[id] != nil {
				continue
			}
			record, ok := f.symbols[id]
			if !ok {
				record = symbolRecord(id)
				f.symbols[id] = record
			}
			records[id] = record
		}
	}
	return records
}

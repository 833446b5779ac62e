package entries

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/granarydb/granary/granule"
	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/disk"
)

// Extension is the contents of an EntryDicts.
type Extension struct {
	Table      int
	Generation int64
	Number     uint64 // number of the entry within the generation, from 1 on
	Image      []byte // in the memory of the log entry
	Version    granule.Version
}

// UnitsContents is the contents of an EntryUnits.
type UnitsContents struct {
	Table  int
	Change catalog.UnitsChange
}

// Read returns an entry's contents by its kind: a TableEntry, a HistoryEntry, an Extension, a
// CommitContents or a UnitsContents. They lie in the entry's memory. Images and journals are not read.
// The error is ErrEntry.
func Read(e disk.Entry) (any, error) {
	switch e.Kind {
	case EntryTable:
		return readTable(e.Body)
	case EntryDicts:
		return readExtension(e.Body, granule.LocationCodes)
	case EntrySharedDicts:
		return readExtension(e.Body, granule.SharedTexts)
	case EntryWholeDicts:
		return readExtension(e.Body, granule.WholeRecords)
	case EntryCommit:
		return CommitEntry(e.Body).Read()
	case EntryHistory:
		return readHistory(e.Body)
	case EntryUnits:
		return readUnits(e.Body)
	}
	return nil, fmt.Errorf("%w: kind %d", ErrEntry, e.Kind)
}

func readTable(body []byte) (e TableEntry, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("%w: table: %w", ErrEntry, err)
	}
	if e.Ranges < 1 {
		return e, fmt.Errorf("%w: table %q has generations of %d ranges", ErrEntry, e.Name, e.Ranges)
	}
	return e, nil
}

func readHistory(body []byte) (e HistoryEntry, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("%w: history: %w", ErrEntry, err)
	}
	return e, nil
}

// readExtension cuts the header of an EntryDicts (DictsHead) from its body.
func readExtension(body []byte, version granule.Version) (Extension, error) {
	if len(body) < dictsHead {
		return Extension{}, fmt.Errorf("%w: %d bytes for dictionaries", ErrEntry, len(body))
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(body[at:]) }
	if u64(0) > 1<<31 {
		return Extension{}, fmt.Errorf("%w: dictionaries of table %d", ErrEntry, u64(0))
	}
	return Extension{int(u64(0)), int64(u64(8)), u64(16), body[dictsHead:], version}, nil
}

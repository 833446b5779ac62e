package entries

import (
	"encoding/json"
	"fmt"
)

// ReadTable returns the table that an EntryTable creates, and whether it is there already, because the
// files have it. name is that of the table with an ordinal, of those there. Errors wrap ErrEntry.
func ReadTable(body []byte, there int, name func(ordinal int) string) (e TableEntry, known bool, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, false, fmt.Errorf("%w: table: %w", ErrEntry, err)
	}
	if e.Ranges < 1 {
		return e, false, fmt.Errorf("%w: table %q has generations of %d ranges", ErrEntry, e.Name, e.Ranges)
	}
	known, err = isKnown("table", e.Name, e.Ordinal, there, name)
	return e, known, err
}

// ReadHistory is ReadTable for the history that an EntryHistory creates.
func ReadHistory(body []byte, there int, name func(ordinal int) string) (e HistoryEntry, known bool, err error) {
	if err := json.Unmarshal(body, &e); err != nil {
		return e, false, fmt.Errorf("%w: history: %w", ErrEntry, err)
	}
	known, err = isKnown("history", e.Name, e.Ordinal, there, name)
	return e, known, err
}

// isKnown reports whether a table or a history is there. If it is neither there nor the next one, it
// returns an error.
func isKnown(kind, of string, ordinal, there int, name func(ordinal int) string) (bool, error) {
	switch {
	case 0 <= ordinal && ordinal < there && name(ordinal) == of:
		return true, nil
	case ordinal != there:
		return false, fmt.Errorf("%w: %s %q is the %d-th, and %d are there", ErrEntry, kind, of, ordinal, there)
	}
	return false, nil
}

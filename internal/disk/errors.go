package disk

import (
	"errors"
	"fmt"
)

// Errors of opening.
var (
	// ErrLocked is returned by FS.Lock if another process has the directory.
	ErrLocked = errors.New("directory is in use by another process")
	// ErrFormat is returned for a file whose format is newer than this program.
	ErrFormat = errors.New("format is newer than this program")
)

// Errors of the log.
var (
	// ErrDisk is returned, together with the disk's error, while the disk refuses to write, sync or
	// make files. Nothing happened. The log tries again each second.
	ErrDisk = errors.New("disk fails")
	// ErrNotDurable is returned by a wait for a sync when the disk fails. The entries stay
	// in the queue, and are written when the disk works again.
	ErrNotDurable = errors.New("not durable yet")
	// ErrClosed is returned after Log.Close.
	ErrClosed = errors.New("log is closed")
	// ErrLimit is returned for an entry that is too large.
	ErrLimit = errors.New("limit exceeded")
)

// DamagedError reports bytes that were durable and have changed or gone since. A log that merely ends amid
// an entry, as after a crash, is not damaged.
type DamagedError struct {
	File   string
	Offset int64  // first unusable byte
	Reason string // for people
	// After is the commit id of the last entry before the damage, Before the commit id of the first
	// known entry behind it: the commits between are lost. 0 if unknown, or if the file is not part of
	// the log.
	After, Before uint64
}

// Error names the file, the offset and the commits.
func (e *DamagedError) Error() string {
	text := fmt.Sprintf("%s is damaged at byte %d: %s", e.File, e.Offset, e.Reason)
	if e.After > 0 {
		text += fmt.Sprintf(", after commit %d", e.After)
	}
	if e.Before > 0 {
		text += fmt.Sprintf(", before commit %d", e.Before)
	}
	return text
}

package repair

import (
	"errors"
	"fmt"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

// Report is the contents of a directory and its damage. Its JSON field names are stable.
type Report struct {
	Commit    uint64   `json:"commit"` // newest commit
	Files     int      `json:"files"`  // number of files read, without the log
	FileBytes int64    `json:"file_bytes"`
	Segments  int      `json:"segments"`  // of the log
	LogBytes  int64    `json:"log_bytes"` // up to the end of the last entry
	Entries   int      `json:"entries"`   // of the log
	Torn      int64    `json:"torn"`      // bytes after the end of the log, which were not durable
	Rows      int64    `json:"rows"`      // whole rows, in files and in the log
	Damages   []Damage `json:"damages"`   // in the order in which they were found; not nil
	// Aside are the files that repairs have set aside: what they had is not in Rows.
	Aside []string `json:"aside,omitempty"`
}

// Damage is a file that cannot be used, or only in part.
type Damage struct {
	File   string `json:"file"`
	Reason string `json:"reason"` // for people
	Err    error  `json:"-"`
	Loss
}

// Loss is a damaged file's cost. It is zero for a copy of a manifest.
type Loss struct {
	// Table has lost rows with times in [From, To], in Unix nanoseconds. Both are 0 in a table without
	// time buckets. Later commits with these times are in the log, and are not lost.
	Table string `json:"table,omitempty"`
	From  int64  `json:"from,omitempty"`
	To    int64  `json:"to,omitempty"`
	Rows  int64  `json:"rows,omitempty"`
	// AndLog is set for a dictionary file: rows of these times in the log, and other rows with the same
	// dictionaries, are lost too, and not counted.
	AndLog bool `json:"and_log,omitempty"`
	// History names the history that lost all states.
	History string `json:"history,omitempty"`
	// Log is set if the commits after After are lost, if any. Before is the first commit that is known to
	// be lost, or 0.
	Log    bool   `json:"log,omitempty"`
	After  uint64 `json:"after,omitempty"`
	Before uint64 `json:"before,omitempty"`
	// All is set if no manifest is whole: everything in files is lost.
	All bool `json:"all,omitempty"`
}

// IsWhole reports whether nothing is damaged.
func (r *Report) IsWhole() bool { return len(r.Damages) == 0 }

// String returns the cost as text for people, or "" if there is none.
func (l *Loss) String() string {
	more := ""
	if l.AndLog {
		more = ", and those of the same dictionaries in the log"
	}
	switch {
	case l.All:
		return "all that is in files"
	case l.Log && l.Before > 0:
		return fmt.Sprintf("the commits after %d, commit %d among them", l.After, l.Before)
	case l.Log:
		return fmt.Sprintf("the commits after %d, if there were any", l.After)
	case l.History != "":
		return fmt.Sprintf("the states of history %q", l.History)
	case l.Table != "" && l.From == 0 && l.To == 0:
		return fmt.Sprintf("%d rows of table %q%s", l.Rows, l.Table, more)
	case l.Table != "":
		return fmt.Sprintf("%d rows of table %q from %s to %s%s", l.Rows, l.Table, timeText(l.From), timeText(l.To), more)
	}
	return ""
}

func timeText(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }

// add adds damage. File and reason come from err if it is a *disk.DamagedError.
func (r *Report) add(file string, err error, loss Loss) {
	reason := err.Error()
	if d, ok := errors.AsType[*disk.DamagedError](err); ok {
		file, reason = d.File, d.Error()
	}
	r.Damages = append(r.Damages, Damage{file, reason, err, loss})
}

package dbdir

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Deletion is a deletion of samples, of a command or a server.
type Deletion struct {
	Time   time.Time `json:"time"` // of its end
	Tenant string    `json:"tenant"`
	// Selector and Type are as they were given, and From and To are Unix nanoseconds, 0 for no bound.
	Selector string `json:"selector,omitempty"`
	Type     string `json:"type,omitempty"`
	From     int64  `json:"from,omitempty"`
	To       int64  `json:"to,omitempty"`
	Rows     int64  `json:"rows"`            // deleted
	Error    string `json:"error,omitempty"` // why it ended before all were
}

// deletionsName is the file of a directory that lists the deletions of samples.
const deletionsName = "deletions.jsonl"

// LogDeletion adds a line of JSON to the list of deletions in a directory, and syncs it.
func LogDeletion(dir string, deletion Deletion) error {
	line, err := json.Marshal(deletion)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, deletionsName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return Explain(dir, err)
	}
	_, err = f.Write(append(line, '\n'))
	return Explain(dir, errors.Join(err, f.Sync(), f.Close()))
}

package dbdir

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/granarydb/granary/server"
)

// DeletionsName is the file of a directory that lists the deletions of samples.
const DeletionsName = "deletions.jsonl"

// LogDeletion adds a line of JSON to the list of deletions in a directory, and syncs it.
func LogDeletion(dir string, deletion server.Deletion) error {
	line, err := json.Marshal(deletion)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, DeletionsName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return Explain(dir, err)
	}
	_, err = f.Write(append(line, '\n'))
	return Explain(dir, errors.Join(err, f.Sync(), f.Close()))
}

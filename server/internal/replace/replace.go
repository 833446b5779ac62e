// Package replace writes files anew, each whole or not at all.
package replace

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// File replaces the file at path by the bytes that write writes, or creates it. It waits for the disk. After an error the file is as it
// was. One goroutine at a time may replace a file.
func File(path string, write func(w io.Writer) error) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err := errors.Join(write(out), out.Flush(), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return os.Rename(next, path)
}

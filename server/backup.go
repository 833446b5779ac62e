package server

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// backup answers POST /backup: a copy of the store's directory as a tar, with all commits from before the request. The copy is
// made below Options.Backups first, mostly of links, so that a slow client delays no files of the store.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Backups == "" {
		return fault.Refused("this server has no directory to copy")
	}
	if !s.copying.TryLock() {
		return fault.TooMany("one backup at a time")
	}
	defer s.copying.Unlock()
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // because its deadline ends with it
		return err
	}
	if err := os.RemoveAll(s.opts.Backups); err != nil { // a backup that a crash ended
		return copyError(err)
	}
	defer func() { _ = os.RemoveAll(s.opts.Backups) }() // what is left goes with the next backup
	if err := s.tenants.store.Backup(r.Context(), disk.System(s.opts.Backups)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Cache-Control", "no-store")
	if rec, ok := w.(*web.Recorder); ok { // a copy may take long, if its client reads
		rec.Pace(s.readGrace, s.limits.ReadRate, time.Now().AddDate(0, 0, 7))
	}
	answer := tar.NewWriter(w)
	if err := sendFiles(r.Context(), answer, s.opts.Backups); err != nil {
		return err
	}
	return answer.Close()
}

// copyError returns an error of the file system below Options.Backups.
func copyError(err error) error { return fmt.Errorf("%w: backup: %w", disk.ErrDisk, err) }

// sendFiles writes the files of a directory, but its lock, into a tar.
func sendFiles(ctx context.Context, to *tar.Writer, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return copyError(err)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.Name() == disk.LockName {
			continue
		}
		if err := sendFile(to, filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

func sendFile(to *tar.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return copyError(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return copyError(err)
	}
	err = to.WriteHeader(&tar.Header{Name: filepath.Base(name), Size: info.Size(), Mode: 0o600, ModTime: info.ModTime(), Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(to, f)
	}
	return err
}

package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

// folder is Objects in a folder of the operating system, such as one on a file server.
type folder struct{ dir string }

const (
	partPrefix = ".part-" // of files that are being written
	partAge    = time.Hour
)

// Folder returns a folder of the operating system as objects. It is made with the first object. Each object is synced.
func Folder(dir string) Objects {
	parts, _ := filepath.Glob(filepath.Join(dir, partPrefix+"*")) // of processes that were killed
	for _, part := range parts {
		if info, err := os.Stat(part); err == nil && time.Since(info.ModTime()) > partAge {
			os.Remove(part)
		}
	}
	return folder{dir}
}

func (f folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// Create implements Objects.
func (f folder) Create(ctx context.Context, name string, body []byte) error {
	return f.write(ctx, name, bytes.NewReader(body), os.Link)
}

// Put implements Objects.
func (f folder) Put(ctx context.Context, name string, body io.Reader) error {
	return f.write(ctx, name, body, os.Rename)
}

// write writes a part, and publishes it under its name.
func (f folder) write(ctx context.Context, name string, body io.Reader, publish func(part, name string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	to := f.path(name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(f.dir, partPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = io.Copy(part, body)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if err := publish(part.Name(), to); err != nil {
		return err
	}
	return disk.System(filepath.Dir(to)).SyncDir()
}

// Get implements Objects.
func (f folder) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return os.Open(f.path(name))
}

// Remove implements Objects.
func (f folder) Remove(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.HasPrefix(name, filesFolder) {
		_ = os.Remove(filepath.Dir(f.path(name))) // an epoch's folder: it is empty, or stays
	}
	return nil
}

// List implements Objects.
func (f folder) List(ctx context.Context, prefix string) (names []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(f.path(prefix), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it is gone, or was never made
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(f.dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	slices.Sort(names)
	return names, err
}

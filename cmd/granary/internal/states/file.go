package states

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/trace"
)

const (
	// fileSuffix is the suffix of the history files that import writes.
	fileSuffix = ".history"

	// ourProvider is the start of the provider of these files; the version of import's conversion follows. A
	// file of another version must be imported again. Other programs set other providers, and the commands
	// read their files too.
	ourProvider     = "granary history import "
	providerVersion = "1"
)

// cacheBytes bounds the blocks of a file that stay in memory. A query keeps only the blocks that it needs,
// but a query of all attributes, each from start to end, reads each block many times.
var cacheBytes int64 = 256 << 20

// hasFileSuffix reports whether a name has the suffix of a history file.
func hasFileSuffix(name string) bool { return strings.HasSuffix(strings.ToLower(name), fileSuffix) }

// isHistoryFile reports whether a file begins with the magic of a history file, or has the suffix.
func isHistoryFile(name string) bool {
	if name == "-" || strings.HasPrefix(name, "synth:") {
		return false
	}
	return hasFileSuffix(name) || string(headOf(name, len(file.Magic))) == file.Magic
}

// headOf returns the first n bytes of a file, or what there is of them.
func headOf(name string, n int) []byte {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil // reading a pipe would consume its first bytes
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, n)
	n, _ = io.ReadFull(f, head)
	return head[:n]
}

// keptName returns the name under which a file at output keeps another: relative to the folder of output, so
// that the two can be moved together, or absolute if there is no such name.
func keptName(name, output string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs(filepath.Dir(output))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(folder, name); err == nil {
		name = filepath.ToSlash(rel)
	}
	return name, nil
}

// foundName returns the name, for this process, of a file that the file `in` keeps.
func foundName(kept, in string) string {
	if filepath.IsAbs(kept) {
		return kept
	}
	return filepath.Join(filepath.Dir(in), kept)
}

// fileOptions returns the options of a history file whose name is relative to the working directory.
func fileOptions(provider string) file.Options {
	return file.Options{Provider: provider, Cache: cacheBytes, FS: disk.System("")}
}

// openFile opens a history file of any provider, or the history files that a file of names lists. After an
// interrupt, openFile and the recording read nothing more.
func openFile(ctx context.Context, name string) (*recording, error) {
	if names, err := joinedNames(name); err != nil {
		return nil, err
	} else if names != nil {
		return openJoined(ctx, names)
	}
	opts := fileOptions("")
	opts.FS = interruptedFS{opts.FS, ctx}
	provider, err := file.Provider(name, opts)
	if err != nil {
		return nil, explainFile(name, err)
	}
	if version, ours := strings.CutPrefix(provider, ourProvider); ours && version != providerVersion && !strings.HasPrefix(provider, partProvider) {
		return nil, fmt.Errorf("%s: version %s of granary history import made it, and this is version %s: import it again", name, version, providerVersion)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	opts.Provider = provider
	file, err := file.Open(name, opts)
	if err != nil {
		return nil, explainFile(name, err)
	}
	if !file.View.Instants() {
		return nil, errors.Join(fmt.Errorf("%s: the history has no states%s", name, lostText(file.Lost)), file.Close())
	}
	l := newRecording(&trace.Recording{View: file.View})
	if strings.HasPrefix(provider, partProvider) {
		if l, err = openPart(ctx, name, provider, file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	l.file, l.provider, l.size = file, provider, info.Size()
	return l, nil
}

// lostText explains the bytes after the states of a file, for an error. It returns "" if there are none.
func lostText(lost int64) string {
	if lost == 0 {
		return ""
	}
	return ": its writer was stopped or is at work"
}

// explainFile adds a remedy to an error of opening a file.
func explainFile(name string, err error) error {
	if _, damaged := errors.AsType[*disk.DamagedError](err); damaged {
		return fmt.Errorf("%w: it is no history file, or it is to be made again", err)
	}
	if errors.Is(err, file.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
		return err // the error names the file
	}
	return fmt.Errorf("%s: %w", name, err)
}

// interruptedFS is a directory in which, after an interrupt, no file can be opened and no byte read. A
// history file is read block by block, therefore an open or a query of it then ends.
type interruptedFS struct {
	disk.FS
	ctx context.Context
}

// Open implements FS.
func (fs interruptedFS) Open(name string) (disk.File, error) {
	if err := fs.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := fs.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return interruptedFile{f, fs.ctx}, nil
}

type interruptedFile struct {
	disk.File
	ctx context.Context
}

// ReadAt implements File.
func (f interruptedFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

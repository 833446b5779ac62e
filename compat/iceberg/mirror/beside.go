package mirror

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

// besideFolder has the files beside those of the store, such as annotations: beside/EPOCH/NUMBER-SUM/NAME. Of objects of one name the
// one with the greatest number counts. An object of the epoch itself counts before one that the epoch shares.
const besideFolder = "beside/"

// besideFile is what the object store has of a file.
type besideFile struct {
	object  string
	size    int64
	changed time.Time
	settled bool // the file was not changed when it was read: another change has another time
}

// settleTime is above the resolution of the times of files.
const settleTime = time.Second

// writtenSuffix ends the names of files that are being written. They get another name when they are whole.
const writtenSuffix = ".new"

// besideName returns the name of an object.
func besideName(epoch, number uint64, sum, name string) string {
	return fmt.Sprintf("%s%016x/%016x-%s/%s", besideFolder, epoch, number, sum, name)
}

// cutBeside returns the parts of an object's name. ok is false for another object, and for a name that leads out of the directory.
func cutBeside(object string) (epoch, number uint64, sum, name string, ok bool) {
	epoch, rest, ok := cutNumber(object, besideFolder)
	version, name, _ := strings.Cut(rest, "/")
	text, sum, _ := strings.Cut(version, "-")
	number, err := strconv.ParseUint(text, 16, 64)
	return epoch, number, sum, name, ok && err == nil && fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name))
}

// Keep makes a file or a folder of Options.Beside durable as it is, or that it is gone: name has slashes between its parts. It returns
// once the object store has it (M1). Files whose size and time have been as they are for a while are not read. The errors are ErrFenced, those of
// FS.Refusal and of ctx, and any of the directory. After an error another call goes on. It costs a segment beside the files.
func (m *FS) Keep(ctx context.Context, name string) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	if err := m.Refusal(); err != nil {
		return err
	}
	had := maps.Clone(m.beside)
	have, err := m.keepBelow(ctx, name, func(name string) besideFile { return had[name] })
	if err != nil {
		return err
	}
	// Nothing is answered, and nothing removed, by a process that was followed.
	if err := m.append(&segment{}); err != nil {
		return err
	}
	maps.Copy(m.beside, have)
	for known, of := range had {
		if now := have[known]; isBelow(known, name) && now.object != of.object {
			if err := m.objects.Remove(ctx, of.object); err != nil {
				return err
			}
			if now.object == "" {
				delete(m.beside, known)
			}
		}
	}
	return nil
}

// isBelow reports whether a file is one or in a folder.
func isBelow(file, name string) bool { return file == name || strings.HasPrefix(file, name+"/") }

// keepBelow writes a file or those of a folder, unless they are as one of known. A name that there is not has none.
func (m *FS) keepBelow(ctx context.Context, name string, known func(name string) besideFile) (map[string]besideFile, error) {
	have := map[string]besideFile{}
	err := filepath.WalkDir(m.besidePath(name), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it is removed meanwhile
		}
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, writtenSuffix) {
			return err
		}
		rel, err := filepath.Rel(m.opts.Beside.Dir, path)
		if err != nil {
			return err
		}
		of, err := m.keepFile(ctx, filepath.ToSlash(rel), path, known(filepath.ToSlash(rel)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		have[filepath.ToSlash(rel)] = of
		return err
	})
	return have, err
}

func (m *FS) besidePath(name string) string {
	return filepath.Join(m.opts.Beside.Dir, filepath.FromSlash(name))
}

// keepFile writes a file, unless the object has its bytes.
func (m *FS) keepFile(ctx context.Context, name, path string, have besideFile) (besideFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return besideFile{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return besideFile{}, err
	}
	of := besideFile{have.object, info.Size(), info.ModTime(), time.Since(info.ModTime()) > settleTime}
	if have.settled && of.size == have.size && of.changed.Equal(have.changed) {
		return have, nil
	}
	crc := crc32.New(castagnoli)
	// It is read up to this size, because it can grow.
	if _, err := io.Copy(crc, io.NewSectionReader(f, 0, of.size)); err != nil {
		return of, err
	}
	if _, _, sum, _, ok := cutBeside(have.object); ok && sum == sumOf(of.size, crc.Sum32()) {
		return of, nil
	}
	of.object = besideName(m.epoch, m.numbers.Add(1), sumOf(of.size, crc.Sum32()), name)
	return of, m.put(ctx, of.object, f, of.size)
}

// besideOf returns the objects of the files beside those of a whole epoch.
func (m *FS) besideOf(ctx context.Context, whole uint64, shared []string) (map[string]string, error) {
	objects, err := m.objects.List(ctx, besideFolder)
	if err != nil {
		return nil, err
	}
	of, ranks := map[string]string{}, map[string]uint64{}
	for _, object := range objects {
		epoch, number, _, name, ok := cutBeside(object)
		if !ok || !slices.ContainsFunc(m.opts.Beside.Names, func(top string) bool { return isBelow(name, top) }) {
			continue
		}
		rank := uint64(0)
		switch {
		case epoch == whole:
			rank = number + 1
		case isIn(shared, object):
			rank = 1
		}
		if rank > ranks[name] {
			of[name], ranks[name] = object, rank
		}
	}
	return of, nil
}

// restoreBeside makes the files of objects.
func (m *FS) restoreBeside(ctx context.Context, objects map[string]string) error {
	return m.each(slices.Sorted(maps.Keys(objects)), func(name string) error {
		return m.again(ctx, func(ctx context.Context) error { return m.fetchBeside(ctx, objects[name], name) })
	})
}

func (m *FS) fetchBeside(ctx context.Context, object, name string) error {
	in, err := m.objects.Get(ctx, object)
	if err != nil {
		return err
	}
	defer in.Close()
	path := m.besidePath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errLocal{err}
	}
	out, err := os.OpenFile(path+writtenSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return errLocal{err}
	}
	crc := crc32.New(castagnoli)
	size, err := io.Copy(out, io.TeeReader(in, crc))
	if _, _, sum, _, _ := cutBeside(object); err == nil && sum != sumOf(size, crc.Sum32()) {
		err = fmt.Errorf("%w: %s has other bytes", ErrCopy, object)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	if err := os.Rename(out.Name(), path); err != nil {
		return errLocal{err}
	}
	return disk.System(filepath.Dir(path)).SyncDir()
}

// copyBeside writes the files beside those of the store into the epoch that the whole one has not.
func (m *FS) copyBeside(ctx context.Context, have map[string]string) error {
	for _, name := range m.opts.Beside.Names {
		of, err := m.keepBelow(ctx, name, func(name string) besideFile { return besideFile{object: have[name]} })
		if err != nil {
			return err
		}
		maps.Copy(m.beside, of)
	}
	return nil
}

package mirror

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/granarydb/granary/internal/disk"
)

// sector is what the size of a file of the log is a multiple of, because its header has a sector to itself.
const sector = 4096

// restore makes the directory from a whole epoch. The epoch's owner can still remove objects that it needs no more. Then one that was
// listed is missing, and the newer objects that stand for it are listed next time.
func (m *FS) restore(ctx context.Context, whole uint64) error {
	if err := m.setMark(markRestoring); err != nil {
		return err
	}
	var err error
	for range mostRestores {
		if err = m.removeMarks(func(name string) bool { return name != markRestoring }); err != nil {
			return err
		}
		if err = m.restoreOnce(ctx, whole); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCopy, err)
	}
	if err != nil {
		return err
	}
	if err := m.setMark(mark(whole)); err != nil {
		return err
	}
	return m.removeMarks(func(name string) bool { return name == markRestoring })
}

func (m *FS) restoreOnce(ctx context.Context, whole uint64) error {
	before, err := m.names()
	if err != nil {
		return err
	}
	for _, name := range before {
		if err := m.FS.Remove(name); err != nil {
			return err
		}
	}
	// The journal is listed first: what a file stands for is removed behind the file, so one of both is seen.
	var segments []string
	var have copied
	err = m.again(ctx, func(ctx context.Context) (err error) {
		if segments, err = m.objects.List(ctx, journalFolder); err != nil {
			return err
		}
		have, err = m.objectsOf(ctx, whole)
		return err
	})
	if err != nil {
		return err
	}
	err = m.each(slices.Sorted(maps.Keys(have.files)), func(name string) error {
		return m.again(ctx, func(ctx context.Context) error { return m.fetch(ctx, have.files[name], name) })
	})
	if err != nil {
		return err
	}
	if err := m.replay(ctx, whole, segments); err != nil {
		return err
	}
	if err := m.restoreBeside(ctx, have.beside); err != nil {
		return err
	}
	return m.SyncDir()
}

// fetch makes a file from an object.
func (m *FS) fetch(ctx context.Context, object, name string) error {
	in, err := m.objects.Get(ctx, object)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := m.FS.Create(name)
	if errors.Is(err, fs.ErrExist) { // of an attempt that failed
		if err = m.FS.Remove(name); err == nil {
			out, err = m.FS.Create(name)
		}
	}
	if err != nil {
		return errLocal{err}
	}
	crc := crc32.New(castagnoli)
	size, err := io.CopyBuffer(io.NewOffsetWriter(out, 0), io.TeeReader(in, crc), make([]byte, 256<<10))
	if _, _, sum, _ := cutFile(object); err == nil && sum != "" && sum != sumOf(size, crc.Sum32()) {
		err = fmt.Errorf("%w: %s has other bytes", ErrCopy, object)
	}
	if err == nil && isLog(name) {
		err = fill(out)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// fill reserves the rest of the last sector.
func fill(f disk.File) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	return f.Reserve((size + sector - 1) / sector * sector)
}

// replay writes the segments of an epoch over its files, in their order: those behind its claim, and before that of this FS.
func (m *FS) replay(ctx context.Context, whole uint64, names []string) error {
	names = slices.DeleteFunc(names, func(name string) bool {
		sequence, _, ok := cutNumber(name, journalFolder)
		return !ok || sequence <= whole || sequence >= m.epoch
	})
	r := &replayed{fs: m.FS, files: map[string]disk.File{}}
	for batch := range slices.Chunk(names, atOnce) {
		segments := make([]*segment, len(batch))
		err := m.each(batch, func(name string) error {
			s, err := m.segment(ctx, name)
			segments[slices.Index(batch, name)] = s
			return err
		})
		for i := 0; i < len(segments) && err == nil; i++ {
			if s := segments[i]; isLog(s.head.File) { // others are claims
				err = r.write(s)
			}
		}
		if err != nil {
			return errors.Join(err, r.close())
		}
	}
	return r.close()
}

// segment reads a segment.
func (m *FS) segment(ctx context.Context, name string) (s *segment, err error) {
	err = m.again(ctx, func(ctx context.Context) error {
		body, err := read(ctx, m.objects, name)
		if err != nil {
			return err
		}
		if s, err = decodeSegment(body); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCopy, name, err)
		}
		return nil
	})
	return s, err
}

// replayed are the files that segments are written to.
type replayed struct {
	fs    disk.FS
	files map[string]disk.File
}

func (r *replayed) write(s *segment) error {
	f, err := r.file(s.head.File)
	if err != nil {
		return err
	}
	at := int64(0)
	for _, to := range s.head.Ranges {
		if _, err := f.WriteAt(s.bytes[at:at+to.Length], to.Offset); err != nil {
			return err
		}
		at += to.Length
	}
	return nil
}

// file returns a file for writing. An FS opens no old file for it, so one that was fetched is copied.
func (r *replayed) file(name string) (disk.File, error) {
	if f := r.files[name]; f != nil {
		return f, nil
	}
	f, err := r.fs.Create(name)
	if errors.Is(err, fs.ErrExist) {
		f, err = r.rewrite(name)
	}
	if err == nil {
		r.files[name] = f
	}
	return f, err
}

// rewrite replaces a file by a new one with its bytes.
func (r *replayed) rewrite(name string) (disk.File, error) {
	old, err := r.fs.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := old.Size()
	var body []byte
	if err == nil {
		body = make([]byte, size)
		_, err = old.ReadAt(body, 0)
	}
	if err = errors.Join(err, old.Close()); err != nil {
		return nil, err
	}
	if err := r.fs.Remove(name); err != nil {
		return nil, err
	}
	f, err := r.fs.Create(name)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt(body, 0)
	return f, err
}

// close makes the files durable.
func (r *replayed) close() (err error) {
	for _, f := range r.files {
		err = errors.Join(err, fill(f), f.Sync(), f.Close())
	}
	return err
}

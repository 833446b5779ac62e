package mirror

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/granarydb/granary/internal/disk"
)

const (
	// mostClaims bounds the claims of an Open that others overtake.
	mostClaims = 100
	// mostRestores bounds the attempts to read objects while their owner removes some.
	mostRestores = 5
	// mostOpening bounds the attempts of one request of Open.
	mostOpening = 5
)

// markRestoring is the name of a file in a directory that is not whole yet.
const markRestoring = disk.MarkPrefix + "restoring"

func mark(epoch uint64) string { return fmt.Sprintf("%s%016x", disk.MarkPrefix, epoch) }

// Open locks a directory, and returns it as one that the object store has too. If the object store has a copy and the directory has no
// files of a store, it makes the files first, as the last owner made them durable. It ends the epoch of that owner (M3), and writes
// the files of the directory to the object store that are not there.
//
// The errors are disk.ErrLocked, ErrStale, ErrCopy, ErrFenced if another Open came in between, ctx's error, and those of the directory
// and of the object store. After an error it can be called again. It costs the time to read the directory. From a copy it costs a
// request for each object, and the time to read and write them.
func Open(ctx context.Context, under disk.FS, objects Objects, opts Options) (*FS, error) {
	lock, err := under.Lock(false)
	if err != nil {
		return nil, err
	}
	m := newFS(under, objects, opts)
	m.lock = lock
	stop := context.AfterFunc(ctx, m.end)
	defer stop()
	if err := m.open(ctx); err != nil {
		m.end()
		return nil, errors.Join(err, lock.Close())
	}
	if !stop() {
		m.end()
		return nil, errors.Join(context.Cause(ctx), lock.Close())
	}
	m.add(job{earlier: true})
	if !opts.Manual {
		m.running.Go(m.run)
	}
	return m, nil
}

// Exists reports whether there is a copy of a directory. The error is that of the object store.
func Exists(ctx context.Context, objects Objects) (bool, error) {
	whole := uint64(0)
	err := again(ctx, leastPause, func(ctx context.Context) (err error) {
		whole, err = newest(ctx, objects, wholeFolder)
		return err
	})
	return whole > 0, err
}

func (m *FS) open(ctx context.Context) error {
	if _, _, err := m.source(ctx); err != nil { // before a claim ends the epoch of another directory
		return err
	}
	if err := m.claim(ctx); err != nil {
		return err
	}
	// Another one can have become whole meanwhile. From now on none does that takes a segment.
	whole, restores, err := m.source(ctx)
	if err != nil {
		return err
	}
	if whole > m.epoch { // a claim followed this one, and its segments are not before this epoch
		return fmt.Errorf("%w: copy %d is newer than claim %d", ErrFenced, whole, m.epoch)
	}
	if restores {
		m.opts.Log.Info("the directory is made again from the object store", "copy", whole)
		if err := m.restore(ctx, whole); err != nil {
			return fmt.Errorf("copy %d in the object store: %w", whole, err)
		}
	}
	if err := m.copyAll(ctx, whole); err != nil {
		return err
	}
	// The mark comes first: a directory that is whole in the object store must know that it is it.
	if err := m.setMark(mark(m.epoch)); err != nil {
		return err
	}
	if err := m.putWhole(ctx); err != nil {
		return err
	}
	// If a claim followed this one, that fails before anything is removed.
	if err := m.append(&segment{}); err != nil {
		return err
	}
	m.mu.Lock()
	m.figures = Stats{}
	m.mu.Unlock()
	return m.removeMarks(func(name string) bool { return name != mark(m.epoch) })
}

// again calls f until it succeeds or another attempt is in vain, mostOpening times. It is for requests of Open, whose caller would
// rather have an error than wait.
func (m *FS) again(ctx context.Context, f func(ctx context.Context) error) error {
	return again(ctx, m.opts.pause, f)
}

func again(ctx context.Context, pause time.Duration, f func(ctx context.Context) error) (err error) {
	for range mostOpening {
		if err = f(ctx); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, ErrFenced) || errors.Is(err, ErrCopy) {
			return err
		}
		if _, isLocal := errors.AsType[errLocal](err); isLocal {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
		}
		pause *= 2
	}
	return err
}

// source returns the newest whole epoch, 0 for none, and whether the directory is to be made from it. The error is ErrStale for a
// directory that has files and is not that epoch.
func (m *FS) source(ctx context.Context) (whole uint64, restores bool, err error) {
	err = m.again(ctx, func(ctx context.Context) (err error) {
		whole, err = newest(ctx, m.objects, wholeFolder)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	names, err := m.List()
	if err != nil {
		return 0, false, err
	}
	hasFiles, isWhole := false, false
	for _, name := range names {
		hasFiles = hasFiles || isOurs(name)
		if epoch, ok := isMark(name); ok {
			isWhole = isWhole || epoch == whole
			restores = restores || epoch == 0
		}
	}
	switch {
	case whole == 0 && restores:
		return 0, false, fmt.Errorf("%w: the directory was being made from a copy, which is gone", ErrCopy)
	case whole == 0:
		return 0, false, nil
	case restores || !hasFiles:
		return whole, true, nil
	case !isWhole:
		return 0, false, fmt.Errorf("%w: copy %d", ErrStale, whole)
	}
	return whole, false, nil
}

// claim begins the epoch, behind all segments that there are.
func (m *FS) claim(ctx context.Context) error {
	for range mostClaims {
		last, err := m.lastSegment(ctx)
		if err != nil {
			return err
		}
		sequence := last + 1
		if err = m.claimAs(ctx, sequence); err == nil {
			last, err = m.lastSegment(ctx)
		}
		switch {
		case errors.Is(err, ErrFenced): // it was taken first
		case err != nil:
			return err
		case last == sequence:
			m.epoch, m.next = sequence, sequence+1
			return nil
		}
		// Otherwise the owner had taken the number before, and removed that segment: the claim ends nothing.
	}
	return fmt.Errorf("%w, %d times in a row", ErrFenced, mostClaims)
}

func (m *FS) lastSegment(ctx context.Context) (last uint64, err error) {
	err = m.again(ctx, func(ctx context.Context) (err error) {
		last, err = newest(ctx, m.objects, journalFolder)
		return err
	})
	return last, err
}

// claimAs makes a claim. Its name comes first, so that no claim is taken for a segment and removed.
func (m *FS) claimAs(ctx context.Context, sequence uint64) error {
	err := m.again(ctx, func(ctx context.Context) error { return m.objects.Put(ctx, claimName(sequence), http.NoBody) })
	if err != nil {
		return err
	}
	s := &segment{head: segmentHead{Sequence: sequence, Epoch: sequence, Writer: m.writer}}
	body := s.encode()
	return m.again(ctx, func(ctx context.Context) error { return m.create(ctx, sequence, body) })
}

// wholeCopy is what the object whole/EPOCH has. An empty one shares nothing.
type wholeCopy struct {
	Shared []string `json:"shared"` // objects of earlier epochs, sorted
}

// copied are the objects of a whole epoch, by file.
type copied struct{ files, beside map[string]string }

// objectsOf returns the objects of a whole epoch.
func (m *FS) objectsOf(ctx context.Context, whole uint64) (of copied, err error) {
	shared, err := m.sharedBy(ctx, whole)
	if err == nil {
		of.files, err = m.filesOf(ctx, whole, shared)
	}
	if err == nil {
		of.beside, err = m.besideOf(ctx, whole, shared)
	}
	return of, err
}

// sharedBy returns the objects of earlier epochs that a whole one shares.
func (m *FS) sharedBy(ctx context.Context, whole uint64) ([]string, error) {
	var c wholeCopy
	body, err := read(ctx, m.objects, wholeName(whole))
	if errors.Is(err, fs.ErrNotExist) { // a later one was made whole, and has removed it
		last, listed := newest(ctx, m.objects, wholeFolder)
		if err = cmp.Or(listed, err); last > m.epoch {
			err = fmt.Errorf("%w: copy %d is newer than claim %d", ErrFenced, last, m.epoch)
		}
	}
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &c)
	}
	return c.Shared, err
}

// filesOf returns the objects of the store's files of a whole epoch.
func (m *FS) filesOf(ctx context.Context, whole uint64, shared []string) (map[string]string, error) {
	objects, err := m.objects.List(ctx, filesFolder)
	if err != nil {
		return nil, err
	}
	// An object of the epoch comes before one that is shared, whose file was removed and made anew. So does one without a sum, which
	// replaces that of a file that has changed.
	of, ranks := map[string]string{}, map[string]int{}
	for _, object := range objects {
		epoch, name, sum, ok := cutFile(object)
		rank := 0
		switch {
		case !ok:
		case epoch == whole && sum == "":
			rank = 3
		case epoch == whole:
			rank = 2
		case isIn(shared, object):
			rank = 1
		}
		if rank > ranks[name] {
			of[name], ranks[name] = object, rank
		}
	}
	return of, nil
}

// isIn reports whether a sorted list has an object.
func isIn(sorted []string, object string) bool {
	_, found := slices.BinarySearch(sorted, object)
	return found
}

// copyAll writes those files of the directory into the epoch that the whole one has not; 0 has none.
func (m *FS) copyAll(ctx context.Context, whole uint64) error {
	names, err := m.names()
	if err != nil {
		return err
	}
	var have copied
	if whole > 0 {
		err = m.again(ctx, func(ctx context.Context) (err error) {
			have, err = m.objectsOf(ctx, whole)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := m.each(names, func(name string) error { return m.copy(name, have.files[name]) }); err != nil {
		return err
	}
	return m.copyBeside(ctx, have.beside)
}

// putWhole says that the epoch is whole.
func (m *FS) putWhole(ctx context.Context) error {
	m.shared = map[string]bool{}
	for _, object := range m.held {
		if epoch, _, _, _ := cutFile(object); epoch != m.epoch {
			m.shared[object] = true
		}
	}
	for _, of := range m.beside {
		if epoch, _, _, _, _ := cutBeside(of.object); epoch != m.epoch {
			m.shared[of.object] = true
		}
	}
	body, err := json.Marshal(wholeCopy{slices.Sorted(maps.Keys(m.shared))})
	if err != nil {
		return err
	}
	return m.again(ctx, func(ctx context.Context) error { return m.objects.Put(ctx, wholeName(m.epoch), bytes.NewReader(body)) })
}

// copy writes a file into the epoch, unless the object has its bytes: one of the log without the space that is reserved behind its
// entries. A file of the log that is there already gets no more.
func (m *FS) copy(name, have string) error {
	f, err := m.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil && isLog(name) {
		size, err = endOf(f, size)
	}
	if err != nil {
		return err
	}
	return m.keep(name, f, size, have)
}

// endOf returns the end of a file's last bytes that are not zero.
func endOf(f disk.File, size int64) (int64, error) {
	buf := make([]byte, 256<<10)
	for size > 0 {
		n := min(int64(len(buf)), size)
		if _, err := f.ReadAt(buf[:n], size-n); err != nil {
			return 0, err
		}
		for i := n; i > 0; i-- {
			if buf[i-1] != 0 {
				return size - n + i, nil
			}
		}
		size -= n
	}
	return 0, nil
}

// setMark makes a file without bytes durable in the directory.
func (m *FS) setMark(name string) error {
	f, err := m.FS.Create(name)
	if errors.Is(err, fs.ErrExist) {
		return m.SyncDir()
	}
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return err
	}
	return m.SyncDir()
}

// removeMarks removes the marks that are chosen.
func (m *FS) removeMarks(isChosen func(name string) bool) error {
	names, err := m.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, ok := isMark(name); ok && isChosen(name) {
			if err := m.FS.Remove(name); err != nil {
				return err
			}
		}
	}
	return m.SyncDir()
}

package file

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/fields"
	"github.com/granarydb/granary/internal/tile"
)

// Writer is a history that is written to a file. Full blocks are written as transactions commit, and leave
// the memory. Its methods are for the goroutine that writes the history, between transactions.
type Writer struct {
	// History takes the states. Until Close it can be read like any history, also after Sync.
	History *history.History
	// Note is bytes that each Sync puts into the file, for layers above. It takes three times its
	// memory.
	Note []byte
	// Aside is like Note, but in a separate block that is read on demand (Reader.Aside), and whose
	// damage affects nothing else.
	Aside []byte

	file
	fs   disk.FS
	open bool       // the file was not closed yet
	mu   sync.Mutex // guards file.blocks, which readers use
	size int64      // bytes in the file
	room []byte     // for a compressed block
	err  error      // from the first write or sync that failed
}

// Create makes a file with an empty history, which is durable when it returns. The errors are
// history.ErrLimit for a provider that is too long, fs.ErrExist and any from the file system. After an
// error there is no new file, unless it could not be removed.
func Create(path string, opts Options) (*Writer, error) {
	if len(opts.Provider) > mostProvider {
		return nil, fmt.Errorf("%w: a provider of %d bytes", history.ErrLimit, len(opts.Provider))
	}
	w := &Writer{room: make([]byte, 0, tile.ChunkBytes)}
	pages := opts.pages()
	pages.Write, pages.Read = w.writePage, w.readPage
	opts.History.Pages = pages
	var err error
	if w.History, err = history.New(opts.History); err != nil {
		return nil, err
	}
	fs, name := opts.find(path)
	if w.disk, err = fs.Create(name); err != nil {
		return nil, err
	}
	w.fs, w.name, w.open = fs, name, true
	if _, err = rand.Read(w.id[:]); err == nil {
		w.append(header(w.id, opts.Provider))
		err = cmp.Or(w.Sync(), fs.SyncDir())
	}
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

// append writes bytes at the end of the file, and reports whether it succeeded.
func (w *Writer) append(b []byte) bool {
	if w.err != nil {
		return false
	}
	if _, err := w.disk.WriteAt(b, w.size); err != nil {
		w.err = fmt.Errorf("%s: writing %d bytes at byte %d: %w", w.name, len(b), w.size, err)
		return false
	}
	w.size += int64(len(b))
	return true
}

// sync makes all bytes durable.
func (w *Writer) sync() bool {
	if w.err != nil {
		return false
	}
	if err := w.disk.Sync(); err != nil {
		w.err = fmt.Errorf("%s: syncing %d bytes: %w", w.name, w.size, err)
	}
	return w.err == nil
}

// writePage implements tile.Pages. Pages come in the order of their numbers.
func (w *Writer) writePage(number int, data []byte) bool {
	b := block{offset: w.size, raw: len(data)}
	data = compress(data, w.room)
	b.length, b.sum = len(data), sum(data)
	if !w.append(data) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if number != len(w.blocks) {
		w.err = fmt.Errorf("%s: page %d follows %d", w.name, number, len(w.blocks))
		return false
	}
	w.blocks = append(w.blocks, b)
	return true
}

// readPage implements tile.Pages.
func (w *Writer) readPage(number int, into []byte) error {
	w.mu.Lock()
	b := w.blocks[number]
	w.mu.Unlock()
	return w.readBlock(b, into)
}

// Sync makes all commits durable: Open returns them from then on, whatever happens to the process. It
// writes the index of the whole history, some 20 bytes a tile plus the compressed names and texts, and
// waits for the disk twice. The errors are history.ErrBusy within a transaction, and any from the file
// system. After an error the file stays as the previous Sync left it.
func (w *Writer) Sync() error {
	d, err := w.History.BeginDrop() // so that no writer can begin
	if err != nil {
		return err
	}
	v, err := d.Publish()
	if err != nil {
		return err
	}
	defer d.Seal()
	image, err := imageOf(v)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	w.writeAside()
	raw := w.index(image)
	data := compress(raw, nil)
	e := end{offset: w.size, length: int64(len(data)), raw: int64(len(raw)), sum: sum(data)}
	data = append(data, make([]byte, -(w.size+e.length)&7)...)
	if w.append(data) && w.sync() && w.append(e.append(nil, w.id, w.size)) {
		w.sync()
	}
	return w.err
}

// writeAside writes the block Aside.
func (w *Writer) writeAside() {
	w.aside = end{}
	if len(w.Aside) > 0 {
		data := compress(w.Aside, nil)
		w.aside = end{offset: w.size, length: int64(len(data)), raw: int64(len(w.Aside)), sum: sum(data)}
		w.append(data) // an error is recorded in w.err
	}
}

// imageOf returns a view's image. An error comes from reading a block.
func imageOf(v *history.View) (image []byte, err error) {
	defer tile.Catch(&err)
	return v.AppendImage(nil), nil
}

// index returns an image's index.
func (w *Writer) index(image []byte) []byte {
	var f fields.Writer
	f.Uint(uint64(len(w.blocks)))
	last := int64(0)
	for _, b := range w.blocks {
		f.Uint(uint64(b.offset - last))
		f.Uint(uint64(b.length))
		f.Uint(uint64(b.raw - b.length))
		f.Uint(uint64(b.sum))
		last = b.offset + int64(b.length)
	}
	f.Uint(uint64(len(w.Note)))
	f.Raw(w.Note)
	if f.Uint(uint64(w.aside.length)); w.aside.length > 0 {
		f.Uint(uint64(w.aside.offset))
		f.Uint(uint64(w.aside.raw - w.aside.length))
		f.Uint(uint64(w.aside.sum))
	}
	f.Raw(image)
	return f.Data
}

// Close is Sync, and closes the file. Queries that need a block return an error from then on. If the
// history was not closed, its file has open intervals. It returns the errors of Sync, which leave the file
// closed, except history.ErrBusy.
func (w *Writer) Close() error {
	err := w.Sync()
	if errors.Is(err, history.ErrBusy) {
		return err
	}
	w.open = false
	return cmp.Or(err, w.disk.Close())
}

// Discard closes the file, if Close did not, and removes it. Queries that need a block return an error from
// then on. The errors come from the file system.
func (w *Writer) Discard() (err error) {
	if w.open {
		w.open, err = false, w.disk.Close()
	}
	return errors.Join(err, w.fs.Remove(w.name))
}

package debuginfo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Info is a binary, a file with its debug information, or a Breakpad symbol file.
type Info struct {
	// BuildIDs are the ids that profiles name the binary by, in lower-case hexadecimal digits: that of the linker, and for a
	// Breakpad file without it the 32 digits that it begins with.
	BuildIDs []string

	mu      sync.Mutex
	limits  Limits
	bytes   int64 // of what was read
	elf     *image
	pclntab lazy[*goTable]
	dwarf   lazy[*units]
	symbols lazy[*symbolTable]
	text    *table // of a Breakpad file
	public  *symbolTable
	problem error // the first one
	closer  io.Closer
}

// lazy is a part of a file that is read when it is first asked for.
type lazy[T any] struct {
	asked bool
	part  T
}

// Open opens a file by its path. Close it at the end.
func Open(path string, limits Limits) (*Info, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := in.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is not a file", ErrBinary, path)
	}
	var f *Info
	if err == nil {
		f, err = New(in, info.Size(), limits)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	f.closer = in
	return f, nil
}

// New opens a file of `size` bytes, which is read when questions need it. Errors wrap ErrBinary or ErrTooManyBytes, or are those
// of r.
func New(r io.ReaderAt, size int64, limits Limits) (f *Info, err error) {
	if limits.Bytes <= 0 {
		limits.Bytes = defaultBytes
	}
	f = &Info{limits: limits}
	defer recovered(&err)
	head := make([]byte, min(size, 16))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		err = f.openELF(r, size)
	case bytes.HasPrefix(head, []byte(moduleRecord)):
		err = f.openBreakpad(io.NewSectionReader(r, 0, size))
	default:
		err = fmt.Errorf("%w: it begins neither as ELF nor as a Breakpad symbol file", ErrBinary)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// recovered turns a panic into an error: the parsers of the standard library read what strangers made.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrBinary, p)
	}
}

// Close closes the file. No question may follow.
func (f *Info) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Bytes returns the memory of the file so far.
func (f *Info) Bytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used()
}

// used returns the memory of the file. The caller holds mu.
func (f *Info) used() int64 {
	n := f.bytes
	if f.dwarf.part != nil {
		n += f.dwarf.part.tables
	}
	return n
}

// Problem returns why a part of the file could not be read, or nil. Its questions were left to the other parts.
func (f *Info) Problem() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem
}

// Frames returns the frames at a place, innermost first, or none if the file has no name for it. A lookup costs about a
// microsecond once the unit that it is in is read.
func (f *Info) Frames(at MappedAddress) []NamedFrame {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.elf == nil {
		return f.textFrames(at)
	}
	addr, ok := f.elf.virtual(at)
	if !ok {
		return nil
	}
	if frames := f.goFrames(addr); len(frames) > 0 {
		return frames
	}
	frames := f.dwarfFrames(addr)
	if len(frames) > 0 && frames[0].Function != "" {
		f.qualify(&frames[len(frames)-1], addr)
		return frames
	}
	if name, ok := f.symbolAt(addr); ok {
		return append([]NamedFrame{{Function: name}}, frames[min(1, len(frames)):]...)
	}
	return nil
}

// qualify gives a function of C++ the mangled name that its symbol has, which DWARF lacks for functions of one file. What
// follows a dot says how the compiler cut the function.
func (f *Info) qualify(outer *NamedFrame, addr uint64) {
	if strings.HasPrefix(outer.Function, "_Z") || outer.Function == "main" {
		return
	}
	if name, ok := f.symbolAt(addr); ok && strings.HasPrefix(name, "_Z") && strings.Contains(name, outer.Function) {
		outer.Function, _, _ = strings.Cut(name, ".")
	}
}

// part returns a part of a file, which read makes when it is first asked for. A part that cannot be read is left out. The
// caller holds mu.
func part[T any](f *Info, p *lazy[T], read func() (T, error)) T {
	if p.asked {
		return p.part
	}
	p.asked = true
	err := func() (err error) {
		defer recovered(&err)
		p.part, err = read()
		return err
	}()
	if err != nil {
		var none T
		p.part = none
		f.note(err)
	}
	return p.part
}

// note keeps the first problem. The caller holds mu.
func (f *Info) note(err error) {
	if f.problem == nil {
		f.problem = err
	}
}

// take counts memory, or returns ErrTooManyBytes. The caller holds mu.
func (f *Info) take(what string, bytes int64) error {
	if bytes < 0 || bytes > f.limits.Bytes-f.used() {
		return fmt.Errorf("%w: %s needs %d bytes beside %d, at most %d", ErrTooManyBytes, what, bytes, f.used(), f.limits.Bytes)
	}
	f.bytes += bytes
	return nil
}

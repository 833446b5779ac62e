package debuginfo

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// breakpad reads a text symbol file, in which each line is a record:
//
//	MODULE os machine id name           the id is that of the binary, in another order of bytes, and an age
//	INFO CODE_ID id                     the binary's id
//	FILE number path
//	INLINE_ORIGIN number name
//	FUNC [m] address size parameters name
//	INLINE depth line file origin (address size)...
//	address size line file              of the function before
//	PUBLIC [m] address parameters name  a symbol
//	STACK ...                           is not read
//
// Numbers are hexadecimal, but for lines, files and origins.
type breakpad struct {
	file    *Info
	table   table
	public  symbolTable
	files   map[string]int32 // by their number
	origins map[string]int32 // index in table.names, by their number
	lines   [][]lineRow      // of each function
	spans   []span
	bytes   int64
	codeID  string
}

// maxLine bounds a line of a symbol file: a name, or the ranges of an inlined call.
const maxLine = 1 << 20

// openBreakpad reads a symbol file.
func (f *Info) openBreakpad(in io.Reader) error {
	b := breakpad{file: f, files: map[string]int32{}, origins: map[string]int32{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	module := ""
	for n := 1; lines.Scan(); n++ {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(lines.Text(), "\r"), " ")
		if n == 1 {
			module = rest
			continue
		}
		if err := b.record(kind, rest); err != nil {
			return fmt.Errorf("line %d of the symbol file: %w", n, err)
		}
		if b.bytes > f.limits.Bytes {
			return fmt.Errorf("%w: line %d needs more than %d bytes", ErrTooManyBytes, n, f.limits.Bytes)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("%w: a line of more than %d bytes", ErrBinary, maxLine)
		}
		return err
	}
	if f.BuildIDs = moduleIDs(module, b.codeID); f.BuildIDs == nil {
		return fmt.Errorf("%w: %s", ErrBinary, wantModule)
	}
	b.table.sortLines(slices.DeleteFunc(b.lines, func(rows []lineRow) bool { return len(rows) == 0 }))
	b.table.nest(b.spans)
	b.public.sort()
	f.text, f.public, f.bytes = &b.table, &b.public, b.bytes
	return nil
}

// moduleIDs returns the ids of the binary. That of the module has the first 16 bytes of the build id, as the numbers of a
// GUID.
func moduleIDs(module, codeID string) []string {
	parts := strings.Fields(module)
	if len(parts) < 4 || len(parts[2]) < 32 {
		return nil
	}
	id, err := hex.DecodeString(parts[2][:32])
	if err != nil {
		return nil
	}
	slices.Reverse(id[:4])
	slices.Reverse(id[4:6])
	slices.Reverse(id[6:8])
	short := hex.EncodeToString(id)
	codeID = strings.ToLower(codeID)
	if _, err := hex.DecodeString(codeID); err != nil || codeID == "" || len(codeID) > 128 {
		return []string{short}
	}
	return slices.Compact([]string{codeID, short})
}

// record adds a line of the file.
func (b *breakpad) record(kind, rest string) error {
	b.bytes += 32
	switch kind {
	case "INFO":
		if what, id, _ := strings.Cut(rest, " "); what == "CODE_ID" {
			b.codeID, _, _ = strings.Cut(id, " ")
		}
	case "FILE":
		number, path, _ := strings.Cut(rest, " ")
		b.files[cut(number)] = int32(len(b.table.files))
		b.table.files = append(b.table.files, b.text(path))
	case "INLINE_ORIGIN":
		number, name, _ := strings.Cut(rest, " ")
		b.origins[cut(number)] = b.name(name)
	case "FUNC":
		return b.function(rest)
	case "INLINE":
		return b.inline(rest)
	case "PUBLIC":
		return b.symbol(rest)
	case "STACK", "":
	default:
		return b.line(kind, rest)
	}
	return nil
}

func (b *breakpad) text(s string) string {
	b.bytes += int64(min(len(s), maxName)) + 64
	return cut(s)
}

func (b *breakpad) name(s string) int32 {
	b.table.names = append(b.table.names, b.text(s))
	return int32(len(b.table.names) - 1)
}

// numbers cuts n hexadecimal numbers from a record.
func numbers(rest string, n int) (all []uint64, after string, err error) {
	for range n {
		var text string
		text, rest, _ = strings.Cut(rest, " ")
		v, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return nil, "", fmt.Errorf("%w: want a hexadecimal number", ErrBinary)
		}
		all = append(all, v)
	}
	return all, rest, nil
}

func (b *breakpad) function(rest string) error {
	n, name, err := numbers(strings.TrimPrefix(rest, "m "), 3)
	if err != nil {
		return err
	}
	b.add(call{name: b.name(name), parent: -1, file: -1}, n[0], n[1], 0)
	b.lines = append(b.lines, nil)
	return nil
}

// add adds a call with its first range.
func (b *breakpad) add(c call, at, size uint64, depth int32) {
	b.table.calls = append(b.table.calls, c)
	b.span(at, size, depth)
}

// span adds a range of the last call.
func (b *breakpad) span(at, size uint64, depth int32) {
	b.bytes += 64
	if high := at + size; high > at {
		b.spans = append(b.spans, span{at, high, depth, int32(len(b.table.calls) - 1)})
	}
}

func (b *breakpad) inline(rest string) error {
	parts := strings.Fields(rest)
	if len(parts) < 6 || len(parts)%2 != 0 || len(b.table.calls) == 0 {
		return fmt.Errorf("%w: want INLINE of a function: depth, line, file, origin and ranges", ErrBinary)
	}
	depth, err := strconv.ParseUint(parts[0], 10, 16)
	line, err2 := strconv.ParseUint(parts[1], 10, 31)
	name, ok := b.origins[parts[3]]
	if cmp.Or(err, err2) != nil || !ok {
		return fmt.Errorf("%w: want numbers, and an INLINE_ORIGIN before", ErrBinary)
	}
	file, ok := b.files[parts[2]]
	if !ok {
		file = -1
	}
	b.table.calls = append(b.table.calls, call{name: name, parent: -1, file: file, line: int32(line)})
	for rest := parts[4:]; len(rest) > 0; rest = rest[2:] {
		n, _, err := numbers(rest[0]+" "+rest[1], 2)
		if err != nil {
			return err
		}
		b.span(n[0], n[1], int32(depth)+1)
	}
	return nil
}

func (b *breakpad) symbol(rest string) error {
	n, name, err := numbers(strings.TrimPrefix(rest, "m "), 2)
	if err != nil {
		return err
	}
	if len(b.public.names) > 1<<31 {
		return fmt.Errorf("%w: more than 2 GiB of names", ErrTooManyBytes)
	}
	b.public.symbols = append(b.public.symbols, symbol{addr: n[0], name: uint32(len(b.public.names))})
	b.public.names = append(append(b.public.names, b.text(name)...), 0)
	return nil
}

// line adds the rows of a line, the second of which ends it. Lines of a function that are not in order are left out.
func (b *breakpad) line(addr, rest string) error {
	n, rest, err := numbers(addr+" "+rest, 2)
	if err != nil || len(b.lines) == 0 {
		return fmt.Errorf("%w: want a record, or a line of a function", ErrBinary)
	}
	text, number, _ := strings.Cut(rest, " ")
	line, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return fmt.Errorf("%w: want the number of a line", ErrBinary)
	}
	file, ok := b.files[number]
	if !ok {
		file = -1
	}
	rows := &b.lines[len(b.lines)-1]
	if k := len(*rows); k > 0 && (*rows)[k-1].addr == n[0] {
		*rows = (*rows)[:k-1]
	} else if k > 0 && (*rows)[k-1].addr > n[0] {
		return nil
	}
	if n[0]+n[1] > n[0] {
		*rows = append(*rows, lineRow{n[0], file, int32(line)}, lineRow{n[0] + n[1], -1, 0})
	}
	return nil
}

// textFrames returns the frames at a place, by a Breakpad file. Its addresses count from the start of the binary.
func (f *Info) textFrames(at MappedAddress) []NamedFrame {
	addr := at.Address
	if at.Start != 0 {
		addr = at.Address - at.Start + at.Offset
	}
	if frames := f.text.frames(nil, addr); len(frames) > 0 {
		return frames
	}
	if name, ok := f.public.at(addr); ok {
		return []NamedFrame{{Function: name}}
	}
	return nil
}

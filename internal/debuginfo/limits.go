package debuginfo

import (
	"errors"
	"fmt"
)

// Limits bounds a file. A field that is 0 means its default.
type Limits struct {
	// Bytes is the memory for sections and tables. Default 1 GiB, which a binary of 2 GB with compressed sections
	// can exceed.
	Bytes int64
}

const (
	defaultBytes = 1 << 30
	// maxTables bounds the bytes of tables of units. All are dropped beyond it, because a question needs few units.
	maxTables = 128 << 20
	// maxInlined bounds the frames at an address. Compilers inline a few dozen levels.
	maxInlined = 128
	// maxName bounds the bytes of a name or a file's path, as those of a label's value.
	maxName = 64 << 10
	// maxOrigins bounds the references from a function to its declaration. Compilers write up to 3.
	maxOrigins = 8
	// workFactor is the work for a unit of DWARF, for each byte of it. A compiler's unit needs about 3.
	workFactor = 64
	// leastWork is the work for a small unit, whose names can be long.
	leastWork = 1 << 18
)

// ErrBinary reports bytes that are neither an ELF file nor a Breakpad symbol file, or that contradict themselves.
var ErrBinary = errors.New("malformed binary or symbol file")

// ErrTooManyBytes reports a file that needs more memory than Limits.Bytes.
var ErrTooManyBytes = errors.New("binary or symbol file too large")

// meter bounds the work on a table that strangers made: tables can refer to each other such that a few bytes cost
// hours.
type meter struct {
	left  int64
	whole *meter // of the file, or nil
}

func newMeter(bytes int64, whole *meter) *meter {
	return &meter{workFactor*bytes + leastWork, whole}
}

// spend returns an error when the work exceeds the bound.
func (m *meter) spend(work int) error {
	if m.left -= int64(work); m.left < 0 {
		return fmt.Errorf("%w: its tables refer to each other too often", ErrBinary)
	}
	if m.whole != nil {
		return m.whole.spend(work)
	}
	return nil
}

package debuginfo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Kind is what a file is.
type Kind string

// The kinds of files.
const (
	BinaryFile   Kind = "elf"   // with code
	DebugFile    Kind = "debug" // the debug information of a binary, without its code
	BreakpadFile Kind = "sym"   // a Breakpad symbol file
)

// Identity is what a file is, and the build ids that profiles name it by, as Info.BuildIDs.
type Identity struct {
	Kind     Kind
	BuildIDs []string
}

// Identify returns what a file is. It reads little of it. The error wraps ErrBinary if it is none of the kinds.
func Identify(path string) (id Identity, err error) {
	in, err := os.Open(path)
	if err != nil {
		return id, err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return id, err
	}
	if !info.Mode().IsRegular() {
		return id, fmt.Errorf("%w: %s is not a file", ErrBinary, path)
	}
	head := make([]byte, 16)
	if n, err := io.ReadFull(in, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return id, fmt.Errorf("%w: %d bytes", ErrBinary, n)
	}
	if !bytes.HasPrefix(head, []byte(moduleRecord)) {
		f, err := New(in, info.Size(), Limits{})
		if err != nil {
			return id, err
		}
		id = Identity{BinaryFile, f.BuildIDs}
		if f.elf.stripped {
			id.Kind = DebugFile
		}
		return id, nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return id, err
	}
	return identifyText(bufio.NewScanner(in))
}

// moduleRecord begins a Breakpad symbol file.
const moduleRecord = "MODULE "

// identifyText reads the records before the first that is about code.
func identifyText(lines *bufio.Scanner) (Identity, error) {
	module, code := "", ""
	for lines.Scan() {
		rest, isModule := strings.CutPrefix(lines.Text(), moduleRecord)
		about, isAbout := strings.CutPrefix(lines.Text(), "INFO CODE_ID ")
		switch {
		case isModule && module == "":
			module = rest
		case isAbout:
			code, _, _ = strings.Cut(about, " ")
		case !strings.HasPrefix(lines.Text(), "INFO "):
			return identityOf(module, code)
		}
	}
	return identityOf(module, code)
}

func identityOf(module, code string) (Identity, error) {
	ids := moduleIDs(strings.TrimSuffix(module, "\r"), strings.TrimSuffix(code, "\r"))
	if ids == nil {
		return Identity{}, fmt.Errorf("%w: %s", ErrBinary, wantModule)
	}
	return Identity{BreakpadFile, ids}, nil
}

const wantModule = "want MODULE, a system, a machine, an id of 32 digits and an age, and a name"

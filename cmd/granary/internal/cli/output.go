package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/spf13/cobra"
)

// WriteTo calls write with the named file, or with standard output for "-". It writes to a temporary file and
// renames it, so an existing file changes only if all of the new content is written. It replaces the
// target of a symbolic link, not the link. It writes directly to devices and pipes.
func WriteTo(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // a device or a pipe cannot be replaced
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	return Replace(name, func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return naming(name, err)
		}
		return errors.Join(write(namedWriter{f, name}), naming(name, f.Close()))
	})
}

// WriteOutput is WriteTo for the output of a command. It also calls NoteWritten, because a command that only
// writes a file would otherwise end without a message.
func WriteOutput(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if err := WriteTo(name, cmd.OutOrStdout(), write); err != nil {
		return err
	}
	NoteWritten(cmd, name)
	return nil
}

// NoteWritten reports on standard error that a file was written. It prints nothing for "-".
func NoteWritten(cmd *cobra.Command, name string) {
	if name != "-" {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: wrote %s\n", Printable(name))
	}
}

// Replace calls write with the path of a file that does not exist yet, in the folder of name, and renames the
// result to name. An existing file changes only if write succeeds; it must be a regular file. If name is a
// symbolic link, its target is replaced, and the path is in the target's folder. After an error the file that
// write made is removed; if it cannot be removed, the error says so.
func Replace(name string, write func(path string) error) error {
	target := name
	if leads, err := filepath.EvalSymlinks(name); err == nil {
		target = leads
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	path := fmt.Sprintf("%s.%08x", target, rand.Uint32())
	mode := modeOf(target)
	err := write(path)
	if err == nil {
		err = naming(name, os.Chmod(path, mode))
	}
	if err == nil {
		err = naming(name, os.Rename(path, target))
	}
	if _, missing := os.Lstat(path); err != nil && missing == nil && !errors.Is(err, fs.ErrExist) {
		if left := os.Remove(path); left != nil {
			err = errors.Join(err, fmt.Errorf("a part of the output is left: %w", left))
		}
	}
	return err
}

// namedWriter writes a temporary file. Its errors name the final file instead.
type namedWriter struct {
	w    io.Writer
	name string
}

func (n namedWriter) Write(data []byte) (int, error) {
	written, err := n.w.Write(data)
	return written, naming(n.name, err)
}

// naming replaces the temporary file's name in an error with the final file's name.
func naming(name string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: path.Err}
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: link.Err}
	}
	return err
}

// modeOf returns a file's permissions, or the permissions for a new file if it does not exist.
func modeOf(name string) fs.FileMode {
	if info, err := os.Stat(name); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

// RefuseInput returns a usage error if output is the same file as an input, even under another name.
func RefuseInput(output string, inputs func(yield func(string) bool)) error {
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	for name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return Usage(fmt.Errorf("-o %s: the output is an input", output))
		}
	}
	return nil
}

// otherForms lists the suffixes of file formats other than SVG. One of them is .svgz, compressed SVG.
var otherForms = []string{
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".svgz", ".pdf", ".ps", ".eps",
	".html", ".htm", ".json", ".csv", ".txt", ".gz", ".pb", ".pprof", ".arrow", ".arrows", ".parquet",
}

// CheckSVG returns a usage error if the name of a picture has the suffix of another format, because programs
// would reject such a file. others names the formats besides SVG that the command can write and selects by
// suffix, such as "HTML" for .html. CheckSVG only names them in its error: a command does not call it for
// their suffixes.
func CheckSVG(output string, others ...string) error {
	formats := append([]string{"SVG"}, others...)
	suffixes := "." + strings.ToLower(strings.Join(formats, " or ."))
	if ending := filepath.Ext(output); slices.Contains(otherForms, strings.ToLower(ending)) {
		return Usage(fmt.Errorf("-o %s: the output is %s, not %s: use the suffix %s", output, strings.Join(formats, " or "), ending, suffixes))
	}
	return nil
}

// RowWriter writes records to a file in one format. Close ends the file. It must also be called after an
// error.
type RowWriter interface {
	Write(rec arrow.Record) error
	Close() error
}

// bufferSize is the size of the buffer in front of a file of rows. It exists because an Arrow writer pads
// each column with a separate small write.
const bufferSize = 256 << 10

// WriteRecords writes records to w with the writer that begin returns, releases them, and calls wrote with the
// number of rows of each.
func WriteRecords(w io.Writer, begin func(io.Writer) (RowWriter, error), records iter.Seq2[arrow.Record, error], wrote func(rows int64)) error {
	buffer := bufio.NewWriterSize(w, bufferSize)
	out, err := begin(buffer)
	if err != nil {
		return err
	}
	for rec, err := range records {
		if err == nil {
			if err = out.Write(rec); err == nil {
				wrote(rec.NumRows())
			}
			rec.Release()
		}
		if err != nil {
			buffer.Reset(io.Discard) // a partial table must not get a valid end
			_ = out.Close()          // the first error is reported
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return buffer.Flush()
}

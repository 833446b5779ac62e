package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/granarydb/granary/server/internal/listing"
)

// packer writes the files of an archive into a zip file.
type packer struct {
	ctx     context.Context
	zip     *zip.Writer
	strip   int
	most    int64 // bytes of all that is read or written
	left    int64 // bytes that can still be read
	known   map[string]bool
	names   int // bytes
	entries int
	files   int
	skipped int
}

func newPacker(ctx context.Context, out io.Writer, strip int, most int64) *packer {
	p := &packer{ctx: ctx, strip: strip, most: most, left: most, known: map[string]bool{}}
	p.zip = zip.NewWriter(&limitedWriter{out, most})
	p.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	return p
}

// limitedWriter fails beyond a number of bytes.
type limitedWriter struct {
	to   io.Writer
	left int64
}

// Write implements io.Writer.
func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.left -= int64(len(b)); w.left < 0 {
		return 0, fmt.Errorf("%w: its text", ErrTooMuch)
	}
	return w.to.Write(b)
}

// Bytes by which formats are known.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zipMagic  = []byte("PK")
)

// pack adds the files of an archive. A zip, whose directory is at its end, is copied into the folder first.
func (p *packer) pack(in io.Reader, dir string) error {
	r := bufio.NewReader(in)
	magic, err := r.Peek(2)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case bytes.Equal(magic, zipMagic):
		return p.packZip(r, dir)
	case !bytes.Equal(magic, gzipMagic):
		return p.packTar(r)
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return unknown(err)
	}
	return p.packTar(unzipped)
}

// unknown returns an error for bytes that are no archive, unless it has a cause of its own: a limit, or the client.
func unknown(err error) error {
	for _, of := range []error{tar.ErrHeader, tar.ErrFieldTooLong, zip.ErrFormat, zip.ErrAlgorithm, zip.ErrChecksum, gzip.ErrHeader, gzip.ErrChecksum, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, of) {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
	if _, is := errors.AsType[flate.CorruptInputError](err); is {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// meteredReader counts what a packer reads, and ends with its context.
type meteredReader struct {
	*packer
	of io.Reader
}

// Read implements io.Reader.
func (c meteredReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.of.Read(b)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes unpacked", ErrTooMuch, c.most)
	}
	return n, err
}

func (p *packer) packTar(in io.Reader) error {
	r := tar.NewReader(meteredReader{p, in})
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) && p.entries > 0 {
			return nil
		}
		if err != nil {
			return unknown(err)
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
			err = p.count()
		} else {
			err = p.add(h.Name, h.Typeflag == tar.TypeReg, r)
		}
		if err != nil {
			return unknown(err)
		}
	}
}

func (p *packer) packZip(in io.Reader, dir string) (err error) {
	copied, err := os.CreateTemp(dir, "*"+newSuffix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close(), os.Remove(copied.Name())) }()
	size, err := io.Copy(copied, meteredReader{p, in})
	if err != nil {
		return err
	}
	p.left = p.most
	z, err := zip.NewReader(copied, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return unknown(err)
	}
	for _, e := range z.File {
		if strings.HasSuffix(e.Name, "/") {
			if err := p.count(); err != nil {
				return err
			}
			continue
		}
		if err := p.addZipped(e); err != nil {
			return unknown(err)
		}
	}
	return nil
}

func (p *packer) addZipped(e *zip.File) error {
	if !e.Mode().IsRegular() {
		return p.add(e.Name, false, nil)
	}
	r, err := e.Open()
	if err != nil {
		return err
	}
	return errors.Join(p.add(e.Name, true, meteredReader{p, r}), r.Close())
}

// count counts an entry.
func (p *packer) count() error {
	if p.entries++; p.entries > maxEntries {
		return fmt.Errorf("%w: more than %d entries", ErrTooMuch, maxEntries)
	}
	return p.ctx.Err()
}

// add adds a file, or skips it.
func (p *packer) add(name string, isRegular bool, in io.Reader) error {
	if err := p.count(); err != nil {
		return err
	}
	name = p.stripped(name)
	if !isRegular || !listing.IsPlain(name) || p.known[name] {
		p.skipped++
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(in, listing.MaxBytes+1))
	if err != nil {
		return err
	}
	if len(data) > listing.MaxBytes || !listing.IsText(data) {
		p.skipped++
		return nil
	}
	p.known[name] = true
	p.files++
	if p.names += len(name); p.files > maxFiles || p.names > maxNames {
		return fmt.Errorf("%w: more than %d files of text, or %d bytes of names", ErrTooMuch, maxFiles, maxNames)
	}
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// stripped returns a name without its first folders, or "" if it has no more.
func (p *packer) stripped(name string) string {
	name = path.Clean(name) // tar writes ./main.go
	for range p.strip {
		_, rest, has := strings.Cut(name, "/")
		if !has {
			return ""
		}
		name = rest
	}
	return name
}

// end ends the file, with what is known of the archive.
func (p *packer) end(a *Archive) error {
	if p.files == 0 {
		return fmt.Errorf("%w: it has no files of text", ErrUnknown)
	}
	about, err := json.Marshal(a)
	if err == nil {
		err = p.zip.SetComment(string(about))
	}
	return errors.Join(err, p.zip.Close())
}

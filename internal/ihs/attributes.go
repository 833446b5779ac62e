package ihs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// NoParent is the parent of attributes at the top.
const NoParent = -1

// Attribute is a named node in the tree. Its key is its index.
type Attribute struct {
	// Parent is the parent's key, always lower than the attribute's own, or NoParent.
	Parent int
	Name   string
}

// heading is the first line of the attribute file.
const heading = "key\tparent\tname"

// ReadAttributes reads the attributes of a set with `keys` keys from r, which must be uncompressed. Names are
// unique under a parent. The errors are ErrFormat, ErrLimit and any from r.
func ReadAttributes(r io.Reader, keys int, limits Limits) ([]Attribute, error) {
	limits = limits.withDefaults()
	if keys < 0 || keys > limits.Keys {
		return nil, fmt.Errorf("%w: %d keys, want 0 to %d", ErrLimit, keys, limits.Keys)
	}
	in := lines{Reader: bufio.NewReaderSize(r, 64<<10), limit: limits.Text + 64, rest: limits.Texts}
	if _, err := in.next(); err != nil {
		return nil, formatError("heading of attributes", err)
	}
	attributes := make([]Attribute, 0, min(keys, maxGuess))
	seen := make(map[Attribute]struct{}, cap(attributes))
	for key := range keys {
		line, err := in.next()
		var a Attribute
		if err == nil {
			a, err = parseAttribute(line, key)
		}
		if _, twice := seen[a]; err == nil && twice {
			err = fmt.Errorf("%w: name %.40q twice under %d", ErrFormat, a.Name, a.Parent)
		}
		if err != nil {
			return nil, formatError(fmt.Sprintf("attribute %d of %d", key, keys), err)
		}
		seen[a] = struct{}{}
		attributes = append(attributes, a)
	}
	if _, err := in.ReadByte(); err == nil {
		return nil, fmt.Errorf("%w: lines after attribute %d, the last", ErrFormat, keys-1)
	} else if !errors.Is(err, io.EOF) {
		return nil, formatError("attributes", err)
	}
	return attributes, nil
}

func parseAttribute(line string, key int) (Attribute, error) {
	number, rest, _ := strings.Cut(line, "\t")
	parent, name, found := strings.Cut(rest, "\t")
	if !found || !utf8.ValidString(name) {
		return Attribute{}, fmt.Errorf("%w: %.40q is no line of three columns in UTF-8", ErrFormat, line)
	}
	if number != strconv.Itoa(key) {
		return Attribute{}, fmt.Errorf("%w: key %.20q, want %d", ErrFormat, number, key)
	}
	p, err := strconv.Atoi(parent)
	if err != nil || p < NoParent || p >= key || parent != strconv.Itoa(p) {
		return Attribute{}, fmt.Errorf("%w: parent %.20q", ErrFormat, parent)
	}
	return Attribute{Parent: p, Name: name}, nil
}

// lines reads lines within limits.
type lines struct {
	*bufio.Reader
	limit int // bytes in a line
	rest  int // bytes left for all lines
	buf   []byte
}

// next returns a line without its line feed; the last line does not have to end with one.
func (l *lines) next() (string, error) {
	l.buf = l.buf[:0]
	for {
		piece, err := l.ReadSlice('\n')
		l.buf = append(l.buf, piece...)
		full := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case len(l.buf) > l.limit:
			return "", fmt.Errorf("%w: a line of more than %d bytes", ErrLimit, l.limit)
		case full:
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(l.buf) == 0):
			return "", err
		}
		if l.rest -= len(l.buf); l.rest < 0 {
			return "", fmt.Errorf("%w: lines of too many bytes", ErrLimit)
		}
		return strings.TrimSuffix(string(l.buf), "\n"), nil
	}
}

// WriteAttributes writes attributes to w, uncompressed. It writes nothing and returns
// ErrFormat if a parent is not below its child, or if a name is not UTF-8 or contains a line
// feed, which the format cannot represent.
func WriteAttributes(w io.Writer, attributes []Attribute) error {
	for key, a := range attributes {
		if a.Parent < NoParent || a.Parent >= key {
			return fmt.Errorf("attribute %d: %w: parent %d", key, ErrFormat, a.Parent)
		}
		if strings.Contains(a.Name, "\n") || !utf8.ValidString(a.Name) {
			return fmt.Errorf("attribute %d: %w: name %.40q", key, ErrFormat, a.Name)
		}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintln(out, heading)
	for key, a := range attributes {
		fmt.Fprintf(out, "%d\t%d\t%s\n", key, a.Parent, a.Name)
	}
	return out.Flush() // returns the first error of the writes above
}

package spans

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/granarydb/granary/internal/protobuf"
	"github.com/granarydb/granary/internal/tracks"
)

// read reads all requests of a file.
func (f *forest) read(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	head, _ := r.Peek(headBytes) // what there is
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		_, _ = r.Discard(len(byteOrderMark)) // it was read
	}
	switch {
	case isSized(head):
		return f.readSized(ctx, r)
	case anyObject.Match(head) && !isResource(head): // bytes of protobuf may look so
		return f.readJSON(ctx, r)
	}
	return f.readResources(ctx, protobuf.NewMessages(r, ErrFormat))
}

// headBytes is how much of a file its form is known by.
const headBytes = 4 << 10

// byteOrderMark is what some editors write before a text.
const byteOrderMark = "\ufeff"

// jsonHead matches the start of a request in JSON.
var jsonHead = regexp.MustCompile(`^(\x{feff})?\s*\{\s*"(resourceSpans|resource_spans)"\s*:`)

// anyObject matches the start of an object in JSON, whose first name may be another.
var anyObject = regexp.MustCompile(`^(\x{feff})?\s*\{\s*["}]`)

// Magic reports whether head is the start of a file with spans.
func Magic(head []byte) bool {
	return jsonHead.Match(head) || isResource(head) || isSized(head)
}

// isSized reports whether head is the start of a request behind its size.
func isSized(head []byte) bool {
	return len(head) > 4 && head[0] <= protobuf.MaxMessage>>24 && isResource(head[4:]) && !isResource(head)
}

// isResource reports whether head is the start of a request: a resource, its scope, and a span in it with the ids of a trace and a span,
// which profiles and logs do not have there.
func isResource(head []byte) bool {
	resource, ok := first(head, 1)
	if !ok {
		return false
	}
	scope, ok := first(resource, 2)
	if !ok {
		return false
	}
	of, ok := first(scope, 2)
	if !ok {
		return false
	}
	trace, ok := first(of, 1)
	if !ok || len(trace) != 16 {
		return false
	}
	id, ok := first(of, 2)
	return ok && len(id) == 8
}

// first returns the first field of bytes with a number, of which the head may have only a part.
func first(message []byte, number uint64) ([]byte, bool) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag&7 != uint64(protobuf.Bytes) {
			return nil, false
		}
		size, m := binary.Uvarint(message[n:])
		if m <= 0 {
			return nil, false
		}
		message = message[n+m:]
		data := message[:min(uint64(len(message)), size)]
		if tag>>3 == number {
			return data, true
		}
		message = message[len(data):]
	}
	return nil, false
}

// readSized reads requests of protobuf behind their sizes.
func (f *forest) readSized(ctx context.Context, r io.Reader) error {
	resources := protobuf.NewMessages(nil, ErrFormat)
	for n := 0; ; n++ {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return cut(err, "request", n)
		}
		request := io.LimitedReader{R: r, N: int64(binary.BigEndian.Uint32(size[:]))}
		resources.Reset(&request)
		if err := f.readResources(ctx, resources); err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
		if request.N > 0 {
			return cut(io.ErrUnexpectedEOF, "request", n)
		}
	}
}

func cut(err error, what string, n int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the end within %s %d", ErrFormat, what, n)
	}
	return err
}

// readResources reads a request of protobuf.
func (f *forest) readResources(ctx context.Context, resources *protobuf.Messages) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := resources.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.resource(data) {
			f.Outcome.LeaveOut("resources that cannot be read", 1)
		}
	}
}

// resource reads the spans of a resource, up to malformed bytes.
func (f *forest) resource(data []byte) (bad bool) {
	var name []byte
	m := protobuf.Read(data)
	for m.Next() {
		if m.Number == 1 {
			name = serviceName(m.Data)
		}
	}
	of := f.service(name)
	bad = m.Bad
	for m = protobuf.Read(data); m.Next(); {
		if m.Number != 2 && m.Number != 1000 { // 1000 is what scopes had before
			continue
		}
		scope := protobuf.Read(m.Data)
		for scope.Next() {
			if scope.Number == 2 && scope.Wire == protobuf.Bytes {
				bad = f.span(of, scope.Data) || bad
			}
		}
		bad = bad || scope.Bad
	}
	return bad
}

// serviceName returns the attribute service.name of a resource.
func serviceName(resource []byte) (name []byte) {
	m := protobuf.Read(resource)
	for m.Next() {
		if m.Number != 1 {
			continue
		}
		var key, value []byte
		attribute := protobuf.Read(m.Data)
		for attribute.Next() {
			switch attribute.Number {
			case 1:
				key = attribute.Data
			case 2:
				value = attribute.Data
			}
		}
		if string(key) != "service.name" {
			continue
		}
		text := protobuf.Read(value)
		for text.Next() {
			if text.Number == 1 {
				name = text.Data
			}
		}
	}
	return name
}

// span reads a span.
func (f *forest) span(of *service, data []byte) (bad bool) {
	var id, parent spanID
	var name tracks.Text
	var start, end uint64
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			id.trace = string(m.Data)
		case 2:
			id.span = string(m.Data)
		case 4:
			if len(bytes.Trim(m.Data, "\x00")) > 0 {
				parent.span = string(m.Data)
			}
		case 5:
			name = f.Text(m.Data)
		case 7:
			start = m.Value
		case 8:
			end = m.Value
		case 11:
			f.event(of, m.Data)
		case 13:
			f.Outcome.LeaveOut("links between spans", 1)
		}
	}
	parent.trace = id.trace
	f.take(of, id, parent, name, start, end)
	return m.Bad
}

// take adds a span with times that a history can have.
func (f *forest) take(of *service, id, parent spanID, name tracks.Text, start, end uint64) {
	if start == 0 || start > tracks.MaxTime || end > tracks.MaxTime {
		f.Outcome.LeaveOut("spans without a time", 1)
		return
	}
	f.add(of, id, parent, name, int64(start), int64(end))
}

// event reads an event of a span.
func (f *forest) event(of *service, data []byte) {
	var at uint64
	var name tracks.Text
	m := protobuf.Read(data)
	for m.Next() {
		switch m.Number {
		case 1:
			at = m.Value
		case 2:
			name = f.Text(m.Data)
		}
	}
	f.instant(of, name, at)
}

func (f *forest) instant(of *service, name tracks.Text, at uint64) {
	if at == 0 || at > tracks.MaxTime {
		f.Outcome.LeaveOut("events without a time", 1)
		return
	}
	f.Instant(of.instants, name, int64(at))
}

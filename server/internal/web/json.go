package web

import (
	"bufio"
	"encoding"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// SendJSON answers with JSON of at most `most` bytes, gzipped if the client accepts gzip.
func SendJSON(w http.ResponseWriter, r *http.Request, most int64, answer any) error {
	whole := NewWhole(r.Context(), most)
	late := &lateZip{whole: whole, zips: takesGzip(r)}
	if err := encodeJSON(NewLimitedWriter(late, most), answer); err != nil {
		return err
	}
	if err := late.end(); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	if late.zip != nil {
		h.Set("Content-Encoding", "gzip")
	}
	whole.Send(w)
	return nil
}

// leastZipped is the least size of an answer that is gzipped.
const leastZipped = 1 << 10

// lateZip writes an answer that is gzipped if it is large.
type lateZip struct {
	whole *Whole
	zips  bool // the client takes gzip
	head  []byte
	zip   io.WriteCloser // once the answer is large
}

// Write implements io.Writer.
func (l *lateZip) Write(b []byte) (int, error) {
	switch {
	case l.zip != nil:
		return l.zip.Write(b)
	case !l.zips:
		runtime.Gosched()
		return l.whole.Write(b)
	}
	if l.head = append(l.head, b...); len(l.head) > leastZipped {
		l.zip = Zip{Writer: gzip.NewWriter(l.whole)}
		if _, err := l.zip.Write(l.head); err != nil {
			return 0, err
		}
		l.head = nil
	}
	return len(b), nil
}

// end writes the rest.
func (l *lateZip) end() error {
	if l.zip != nil {
		return l.zip.Close()
	}
	_, err := l.whole.Write(l.head)
	return err
}

// encodeJSON writes a value as json.Encoder does. It encodes a long list piece by piece, because json.Encoder has the
// whole text in a buffer that doubles, and keeps it. The value has no field that hides another, and no option string.
func encodeJSON(w io.Writer, value any) error {
	out := bufio.NewWriterSize(w, pieceBytes)
	e := jsonEncoder{out}
	if err := e.value(reflect.ValueOf(value)); err != nil {
		return err
	}
	_ = out.WriteByte('\n') // the error comes again
	return out.Flush()
}

type jsonEncoder struct{ *bufio.Writer }

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// value writes a value. Of a list of lists, each is written by itself.
func (e jsonEncoder) value(v reflect.Value) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() || v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler) {
			return e.whole(v)
		}
		v = v.Elem()
	}
	switch kind := v.Kind(); {
	case kind == reflect.Invalid || v.Type().Implements(jsonMarshaler) || v.Type().Implements(textMarshaler):
		return e.whole(v)
	case kind == reflect.Struct:
		_ = e.WriteByte('{')
		if _, err := e.fields(v, false); err != nil {
			return err
		}
		return e.WriteByte('}')
	case kind == reflect.Map && v.Type().Key() == reflect.TypeFor[string]() && !v.IsNil():
		return e.entries(v)
	case kind == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8 && !v.IsNil():
		return e.list(v)
	}
	return e.whole(v)
}

// whole writes a value that is encoded at once.
func (e jsonEncoder) whole(v reflect.Value) error {
	var value any
	if v.IsValid() {
		value = v.Interface()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = e.Write(text)
	return err
}

// list writes a list.
func (e jsonEncoder) list(v reflect.Value) error {
	const atOnce = 64
	_ = e.WriteByte('[')
	step, write := atOnce, func(i, n int) error {
		text, err := json.Marshal(v.Slice(i, min(i+n, v.Len())).Interface())
		if err == nil {
			_, err = e.Write(text[1 : len(text)-1])
		}
		return err
	}
	if v.Type().Elem().Kind() == reflect.Slice {
		step, write = 1, func(i, _ int) error { return e.value(v.Index(i)) }
	}
	for i := 0; i < v.Len(); i += step {
		if i > 0 {
			_ = e.WriteByte(',')
		}
		if err := write(i, step); err != nil {
			return err
		}
	}
	return e.WriteByte(']')
}

// entries writes the entries of a map, sorted by key.
func (e jsonEncoder) entries(v reflect.Value) error {
	_ = e.WriteByte('{')
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for i, key := range keys {
		if i > 0 {
			_ = e.WriteByte(',')
		}
		if err := e.member(key.String(), v.MapIndex(key)); err != nil {
			return err
		}
	}
	return e.WriteByte('}')
}

// fields writes the fields of a struct, and of the structs that it embeds. some reports whether there are any, here or
// before.
func (e jsonEncoder) fields(v reflect.Value, some bool) (_ bool, err error) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			if some, err = e.fields(v.Field(i), some); err != nil {
				return some, err
			}
			continue
		case !field.IsExported(), name == "-", options == "omitempty" && isEmpty(v.Field(i)):
			continue
		case name == "":
			name = field.Name
		}
		if some {
			_ = e.WriteByte(',')
		}
		some = true
		if err := e.member(name, v.Field(i)); err != nil {
			return some, err
		}
	}
	return some, nil
}

// member writes a name and a value.
func (e jsonEncoder) member(name string, v reflect.Value) error {
	if err := e.whole(reflect.ValueOf(name)); err != nil {
		return err
	}
	_ = e.WriteByte(':')
	return e.value(v)
}

// isEmpty reports whether omitempty leaves a value out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

package fields

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var errBad = errors.New("bad image")

// What a writer writes, a reader reads, whatever it is.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Writer
		var check []func(r *Reader)
		for range rapid.IntRange(0, 20).Draw(t, "fields") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				v := rapid.Uint64().Draw(t, "uint") >> rapid.IntRange(0, 63).Draw(t, "shift")
				w.Uint(v)
				check = append(check, func(r *Reader) {
					if got := r.Uint("uint", v); got != v {
						t.Errorf("Uint() = %d, want %d", got, v)
					}
				})
			case 1:
				v := rapid.Int64().Draw(t, "int") >> rapid.IntRange(0, 63).Draw(t, "shift")
				w.Int(uint64(v))
				check = append(check, func(r *Reader) {
					if got := int64(r.Int("int")); got != v {
						t.Errorf("Int() = %d, want %d", got, v)
					}
				})
			case 2:
				v := rapid.StringN(0, 9, -1).Draw(t, "text")
				w.Text(v)
				check = append(check, func(r *Reader) {
					if got := string(r.Text("text", len(v))); got != v {
						t.Errorf("Text() = %q, want %q", got, v)
					}
				})
			default:
				v := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "raw")
				w.Raw(v)
				check = append(check, func(r *Reader) {
					if got := r.Raw("raw", len(v)); !slices.Equal(got, v) {
						t.Errorf("Raw() = %x, want %x", got, v)
					}
				})
			}
		}
		r := NewReader(w.Data, errBad)
		for _, f := range check {
			f(&r)
		}
		if r.Err() != nil || r.Left() != 0 {
			t.Errorf("%d bytes are left, %v", r.Left(), r.Err())
		}
	})
}

// The first error stays, it names the structure, the field and the place, and what is read after
// it is empty.
func TestErrors(t *testing.T) {
	long := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}
	tests := []struct {
		name string
		data []byte
		read func(r *Reader)
		want string
	}{
		{"no number", nil, func(r *Reader) { r.Uint("rows", 9) }, "bad image: part before byte 0: rows is no number"},
		{"cut number", []byte{0x80}, func(r *Reader) { r.Uint("rows", 9) }, "bad image: part before byte 0: rows is no number"},
		{"too many bits", long, func(r *Reader) { r.Int("low") }, "bad image: part before byte 0: low is no number"},
		{"needless byte", []byte{0x81, 0x00}, func(r *Reader) { r.Uint("rows", 9) }, "bad image: part before byte 0: rows is no number"},
		{"too large", []byte{10}, func(r *Reader) { r.Uint("rows", 9) }, "bad image: part before byte 1: rows is 10, at most 9"},
		{"too many", []byte{3, 0, 0, 0, 0, 0}, func(r *Reader) { r.Count("ids", 2) }, "bad image: part before byte 1: ids is 3, and there are bytes for 2"},
		{"cut text", []byte{3, 'a', 'b'}, func(r *Reader) { r.Text("name", 9) }, "bad image: part before byte 1: name has 3 bytes, and 2 are left"},
		{"long text", []byte{3, 'a', 'b', 'c'}, func(r *Reader) { r.Text("name", 2) }, "bad image: part before byte 1: name is 3, at most 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(append(tt.data, 1, 2)[:len(tt.data)], errBad)
			r.In("part")
			tt.read(&r)
			r.Failf("another error")
			if err := r.Err(); !errors.Is(err, errBad) || err.Error() != tt.want {
				t.Errorf("Err() = %q, want %q", err, tt.want)
			}
			if n := r.Uint("", math.MaxUint64) + r.Int("") + uint64(r.Count("", 1)+r.Left()+len(r.Peek())); n != 0 {
				t.Errorf("numbers after the error: %d", n)
			}
			if data := r.Raw("", 0); data != nil {
				t.Errorf("bytes after the error: %x", data)
			}
		})
	}
}

// A dump shows what there is.
func TestDump(t *testing.T) {
	var w Writer
	w.Uint(300)
	w.Int(1<<64 - 2)
	w.Text("name")
	w.Raw(make([]byte, 30))
	d := Dump{Image: w.Data}
	r := NewReader(w.Data, errBad)
	r.Trace = d.Field
	r.In("part")
	r.Uint("rows", 300)
	r.Int("low")
	r.Text("text", 9)
	r.Raw("rest", 30)
	const want = `part
  0000  ac 02                         rows 300
  0002  03                            low -2
  0003  04                            text 4
  0004  6e 61 6d 65                   text
  0008  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 and 6 more  rest
`
	if got := d.Text.String(); got != want {
		t.Errorf("dump:\n%s\nwant:\n%s", got, want)
	}
}

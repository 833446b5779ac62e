package dict

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/granarydb/granary/internal/damaged"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/fields"
)

// Limits of the dictionaries that tests make.
const (
	testList   = 300
	testRecord = 1000
)

// AppendImage appends the image of all entries since a mark, and returns the mark of its end.
func (d *Lists) AppendImage(dst []byte, since ListsMark) (image []byte, now ListsMark) {
	now = d.NextMark()
	return d.AppendImageTo(dst, since, now), now
}

// addImage opens an image that must be sound, and adds it.
func addImage(t fataler, d *Lists, image []byte) {
	t.Helper()
	add, rest, err := d.OpenImage(image, LocationCodes, testList, testRecord)
	if err != nil || len(rest) > 0 {
		t.Fatalf("OpenImage: %d bytes are left, %v", len(rest), err)
	}
	add()
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkSame fails unless two dictionaries have the same content under the same codes. It leaves
// alone what the second has beyond hashes.
func checkSame(t fataler, want, got *Lists) {
	t.Helper()
	if got.Len() != want.Len() || got.Elements() != want.Elements() || got.records.len() != want.records.len() || got.Members() != want.Members() {
		t.Fatalf("%d lists with %d members of %d elements and %d records, want %d, %d, %d, %d", got.Len(), got.Members(), got.Elements(), got.records.len(),
			want.Len(), want.Members(), want.Elements(), want.records.len())
	}
	for code := range uint32(want.Elements() + 1) {
		if code == 0 {
			continue
		}
		if got.Element(code) != want.Element(code) || string(got.Record(code)) != string(want.Record(code)) || got.recordOf.at(int(code)-1).Load() != want.recordOf.at(int(code)-1).Load() {
			t.Fatalf("element %d is %v with record %q, want %v, %q", code, got.Element(code), got.Record(code), want.Element(code), want.Record(code))
		}
	}
	for code := range uint32(want.Len() + 1) {
		if a, b := got.List(nil, code), want.List(nil, code); !slices.Equal(a, b) {
			t.Fatalf("list %d is %v, want %v", code, a, b)
		}
	}
}

// checkFound fails unless the dictionary finds all that it has, and takes in more.
func checkFound(t fataler, d *Lists) {
	t.Helper()
	lists, elements := d.Len(), d.Elements()
	for code := range uint32(elements) {
		if got := d.FindElement(d.Element(code + 1)); got != code+1 {
			t.Fatalf("element %d is found as %d", code+1, got)
		}
	}
	for code := range uint32(lists) {
		if got := d.FindList(d.UUIDs(nil, code+1)); got != code+1 {
			t.Fatalf("list %d is found as %d", code+1, got)
		}
	}
	id := uuid.UUID{9, 9, 9}
	element, err := d.InternElement(id, []byte("a record"))
	if err != nil || int(element) != elements+1 {
		t.Fatalf("a new element has code %d of %d, %v", element, elements, err)
	}
	codes, err := d.InternLists(nil, [][]uuid.UUID{{id, id}})
	if err != nil || int(codes[0]) != lists+1 || !slices.Equal(d.UUIDs(nil, codes[0]), []uuid.UUID{id, id}) {
		t.Fatalf("a new list has code %d of %d, %v", codes[0], lists, err)
	}
}

// sampleLists is a dictionary of a few lists in two steps, with late records, and the image of
// each step.
func sampleLists(t testing.TB) (d *Lists, first, second []byte) {
	t.Helper()
	d = NewLists(1)
	for i := range 300 { // so that codes have two bytes, too
		record := ""
		if i%3 == 0 {
			record = locationText(uint64(i), line(fmt.Sprint("a function ", i%6), "", "", 0, int64(i), 0))
		}
		mustElement(t, d, uuidOf(i), record)
	}
	for i := range 20 {
		mustLists(t, d, [][]uuid.UUID{{uuidOf(280 - i), uuidOf(i / 4), uuidOf(2), uuidOf(1)}})
	}
	first, mark := d.AppendImage(nil, ListsMark{})
	mustElement(t, d, uuidOf(4), "late")
	mustElement(t, d, uuidOf(7), locationText(1<<32, line("a function 3", "_main", "a function 3", 7, -1, 0), line("one more", "one more", "", 0, 0, 1))) // texts that are known, and two
	mustElement(t, d, uuidOf(500), "new")
	hashed := locationText(77, line("one more", "one more", "", 0, 0, 0))
	mustElement(t, d, recordHash([]byte(hashed)), hashed)
	mustLists(t, d, [][]uuid.UUID{{uuidOf(500), uuidOf(4), uuidOf(2), uuidOf(1)}, {}})
	second, _ = d.AppendImage(nil, mark)
	return d, first, second
}

// The golden file has the bytes of an image of what a dictionary has new.
func TestListsImageGolden(t *testing.T) {
	d, first, second := sampleLists(t)
	got := NewLists(2)
	addImage(t, got, first)
	dump := fields.Dump{Image: second}
	r := fields.NewReader(second, ErrImage)
	r.Trace = dump.Field
	in := got.readImage(&r, LocationCodes, testList, testRecord)
	if r.Err() != nil || r.Left() > 0 {
		t.Fatalf("%d bytes are left, %v", r.Left(), r.Err())
	}
	got.addImage(&in)
	checkSame(t, d, got)
	checkGolden(t, "lists_image.golden", "# An image: two elements, one with the hash of its record, four records, one of them new for two elements that were known, and two lists.\n"+
		"# Made by: go test ./encoding/dict -run TestListsImageGolden -update\n# A field a line: its place, its bytes in order, and their meaning.\n\n"+dump.Text.String())
}

func TestValuesImageGolden(t *testing.T) {
	d, got := NewValues(1), NewValues(2)
	for _, value := range []string{"", "cpu", "nanoseconds"} {
		mustIntern(t, d, value)
		mustIntern(t, got, value)
	}
	mustIntern(t, d, "memory")
	mustIntern(t, d, "bytes")
	image := d.AppendImageTo(nil, 3, d.Len())
	dump := fields.Dump{Image: image}
	r := fields.NewReader(image, ErrImage)
	r.Trace = dump.Field
	got.addImage(got.readImage(&r, nil))
	for code := range uint32(6) {
		if string(got.Value(code)) != string(d.Value(code)) || code > 0 && got.Find(d.Value(code)) != code {
			t.Errorf("value %d is %q, found as %d", code, got.Value(code), got.Find(d.Value(code)))
		}
	}
	checkGolden(t, "values_image.golden", "# An image of two values that follow three.\n"+
		"# Made by: go test ./encoding/dict -run TestValuesImageGolden -update\n# A field a line: its place, its bytes in order, and their meaning.\n\n"+dump.Text.String())
}

// Images that follow one another make the same dictionary, with other hashes: whatever came
// between two of them, and also if they are of two logs at different places.
func TestListsImages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := NewLists(1)
		copies := []*Lists{NewLists(2), NewLists(3)}
		var marks [2]ListsMark
		log := loggedLists{marks: []ListsMark{{}}, copied: []ListsMark{{}}} // of the first copy
		ids := func(name string) (list []uuid.UUID) {
			for range rapid.IntRange(0, 20).Draw(t, name) {
				list = append(list, uuidOf(rapid.IntRange(0, 40).Draw(t, "id")))
			}
			return list
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); step {
			case 0, 1: // a copy, of either log
				keep := func(image []byte, mark ListsMark) {
					addImage(t, copies[step], image)
					marks[step] = mark
					if step == 0 {
						log.images = append(log.images, image)
						log.marks, log.copied = append(log.marks, mark), append(log.copied, copies[0].Mark())
					}
				}
				bytes := rapid.OneOf(rapid.Just(1<<20), rapid.IntRange(1, 300)).Draw(t, "bytes of an image")
				for to := source.NextMark(); marks[step] != to; {
					next, _ := source.Fit(marks[step], to, bytes)
					image := source.AppendImageTo(nil, marks[step], next)
					if len(image) > bytes+testRecord || next == marks[step] {
						t.Fatalf("an image from %+v to %+v has %d bytes, want about %d", marks[step], next, len(image), bytes)
					}
					keep(image, next)
					if rapid.IntRange(0, 9).Draw(t, "record amid images") == 0 {
						_ = source.KeepRecord(uuidOf(rapid.IntRange(0, 60).Draw(t, "id")), []byte(locationText(1, line("a function amid images", "", "", 0, 0, 0))))
					}
				}
				keep(source.AppendImage(nil, marks[step]))
				checkSame(t, source, copies[step])
				if rapid.Bool().Draw(t, "search") {
					for code := range uint32(source.Len()) {
						if list := source.UUIDs(nil, code+1); copies[step].FindList(list) != code+1 {
							t.Fatalf("list %d is found as %d", code+1, copies[step].FindList(list))
						}
					}
				}
			case 2:
				var batch [][]uuid.UUID
				for range rapid.IntRange(0, 40).Draw(t, "lists") {
					batch = append(batch, ids("length"))
				}
				if _, err := source.InternLists(nil, batch); err != nil {
					t.Fatal(err)
				}
			case 3:
				id, record := uuidOf(rapid.IntRange(0, 60).Draw(t, "id")), drawRecord(t)
				if rapid.Bool().Draw(t, "hashed") {
					id = recordHash(record)
				}
				if _, err := source.InternElement(id, record); err != nil {
					t.Fatal(err)
				}
			default:
				for _, id := range ids("late records") {
					if err := source.KeepRecord(id, []byte(locationText(uint64(id[15]), line(fmt.Sprint("a function ", id[15]%5), "", "", 0, 0, 0)))); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for i, c := range copies {
			image, _ := source.AppendImage(nil, marks[i])
			addImage(t, c, image)
			checkSame(t, source, c)
			if i == 0 {
				log.images = append(log.images, image)
			}
		}
		from := rapid.IntRange(0, len(log.images)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(log.images)-1).Draw(t, "to")
		log.check(t, from, to, source.AppendImageTo(nil, log.marks[from], log.marks[to]))
		log.check(t, from, to, copies[0].AppendImageTo(nil, log.copied[from], log.copied[to]))
		for _, c := range copies {
			checkFound(t, c)
		}
		whole := NewLists(4) // all at once
		image, _ := source.AppendImage(nil, ListsMark{})
		addImage(t, whole, image)
		checkSame(t, source, whole)
	})
}

// loggedLists is the images of a dictionary, and the marks between them: of the dictionary, and of
// one that was made of the images.
type loggedLists struct {
	images        [][]byte
	marks, copied []ListsMark
}

// check fails unless one image of what is between two marks does as all images between them. It can
// have late records of the images behind, so those follow.
func (l *loggedLists) check(t fataler, from, to int, image []byte) {
	t.Helper()
	want, got := NewLists(5), NewLists(6)
	for _, image := range l.images {
		addImage(t, want, image)
	}
	for _, image := range slices.Concat(l.images[:from], [][]byte{image}, l.images[to:]) {
		addImage(t, got, image)
	}
	checkSame(t, want, got)
}

// A dictionary that was read takes as many bytes as one that was made, once it has hashes.
func TestImageSize(t *testing.T) {
	d := NewLists(1)
	values := NewValues(1)
	for i := range 3000 {
		mustElement(t, d, uuidOf(i), locationText(uint64(i), line(fmt.Sprint("a function ", i), "", "", 0, 0, 0)))
		mustIntern(t, values, fmt.Sprint("value ", i))
	}
	for i := range 2000 {
		mustLists(t, d, [][]uuid.UUID{stackOf(i*7919, 20)})
	}
	got, gotValues := NewLists(1), NewValues(1)
	image, _ := d.AppendImage(nil, ListsMark{})
	addImage(t, got, image)
	image = values.AppendImageTo(nil, 0, values.Len())
	add, _, err := gotValues.OpenImage(image, nil)
	if err != nil {
		t.Fatal(err)
	}
	add()
	want, wantRecords := d.Size()
	if lists, records := got.Size(); lists > want*2/3 || records > wantRecords*9/10 || gotValues.Size() > values.Size()*7/8 {
		t.Errorf("without hashes %d and %d bytes, values %d; with them %d, %d, %d", lists, records, gotValues.Size(), want, wantRecords, values.Size())
	}
	if need, growth := gotValues.Need(1, 3), values.Size()-gotValues.Size(); need < growth {
		t.Errorf("values need %d bytes for one more, and hashes take %d", need, growth)
	}
	got.FindList(nil)
	got.records.texts.Find(nil)
	gotValues.Find(nil)
	lists, records := got.Size()
	if diff := lists - want; diff < -1000 || diff > 1000 || records != wantRecords-recordWriterSize || gotValues.Size() != values.Size() {
		t.Errorf("read %d and %d bytes, values %d; made %d, %d, %d", lists, records, gotValues.Size(), want, wantRecords, values.Size())
	}
	for i := range got.elements.shards {
		a, b := got.elements.shards[i].slots.Load(), d.elements.shards[i].slots.Load()
		if len(a.slots) != len(b.slots) || got.elements.shards[i].used != d.elements.shards[i].used {
			t.Errorf("shard %d has %d slots, made %d", i, len(a.slots), len(b.slots))
		}
	}
}

// Images are taken beside writers, among them of late records. With the last of them nothing is
// missing.
func TestListsImage_Concurrent(t *testing.T) {
	source, got := NewLists(1), NewLists(2)
	var mark ListsMark
	var writing sync.WaitGroup
	for w := range 3 {
		writing.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range 3000 {
				if i%500 == 0 { // as another log does: what was there before it has late records
					source.AppendImage(nil, ListsMark{})
				}
				id := uuidOf(r.IntN(1 + i/4))
				switch r.IntN(3) {
				case 0:
					_, _ = source.InternElement(id, nil)
				case 1:
					_ = source.KeepRecord(id, []byte(locationText(r.Uint64(), line(fmt.Sprint("a function ", r.IntN(500)), "", "", 0, 0, 0))))
				default:
					mustLists(t, source, [][]uuid.UUID{{id, uuidOf(r.IntN(1 + i))}})
				}
			}
		})
	}
	images := 0
	while(&writing, 1, func(int) {
		image, now := source.AppendImage(nil, mark)
		addImage(t, got, image)
		mark = now
		images++
	})
	checkSame(t, source, got)
	if images < 2 || len(source.late) == 0 {
		t.Errorf("%d images, %d late records: too few to tell", images, len(source.late))
	}
	// Many look for lists at once, and the first makes the hashes.
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for code := range uint32(source.Len()) {
				if found := got.FindList(source.UUIDs(nil, code+1)); found != code+1 {
					t.Errorf("list %d is found as %d", code+1, found)
					return
				}
			}
		})
	}
	looking.Wait()
	checkFound(t, got)
}

// A dictionary that was read goes on where it ended, also with records for what was read.
func TestListsImage_GoesOn(t *testing.T) {
	_, first, _ := sampleLists(t)
	d, copied := NewLists(5), NewLists(6)
	addImage(t, d, first)
	addImage(t, copied, first)
	mark := d.Mark()
	if err := d.KeepRecord(uuidOf(4), []byte("late")); err != nil {
		t.Fatal(err)
	}
	image, now := d.AppendImage(nil, mark)
	addImage(t, copied, image)
	if record := string(copied.Record(copied.FindElement(uuidOf(4)))); record != "late" || now == mark || now != d.Mark() {
		t.Errorf("the record is %q, the mark %+v, want late, %+v", record, now, d.Mark())
	}
	checkSame(t, d, copied)
	checkFound(t, copied)
}

// use reads all that a dictionary has, and searches it.
func use(d *Lists) {
	cursor := d.View().Cursor()
	for code := range uint32(d.Len() + 1) {
		cursor.Move(code)
		_ = d.List(nil, code)
	}
	for code := range uint32(d.Elements()) {
		_ = d.Record(code + 1)
	}
	for range d.RecordOrder() {
		continue
	}
	some := make([]uint64, d.Elements()/64+1)
	for i := range some {
		some[i] = 0x5555555555555555
	}
	d.ListsWith(some, func() bool { return false })
	union := NewUnion(d)
	for code := range uint32(d.Len() + 1) {
		union.Add(0, code)
	}
	d.FindList(nil)
	d.Need(Growth{Lists: 1, Members: 3, Longest: 3})
	if _, err := d.InternLists(nil, [][]uuid.UUID{{{1}, {2}}, {{3}}}); err != nil && !errors.Is(err, ErrFull) {
		panic(err)
	}
}

// listsToDamage is an image of lists that follows another, or none.
func listsToDamage(name string, before, image []byte) damaged.Image {
	return damaged.Image{
		Name: name, Bytes: image, Bad: ErrImage,
		Open: func(image []byte) (any, error) {
			d := NewLists(3)
			if before != nil {
				add, _, err := d.OpenImage(before, LocationCodes, testList, testRecord)
				if err != nil {
					panic(err)
				}
				add()
			}
			lists, elements := d.Len(), d.Elements()
			add, _, err := d.OpenImage(image, LocationCodes, testList, testRecord)
			if err == nil {
				add()
			} else if d.Len() != lists || d.Elements() != elements {
				return nil, errors.New("an error changed the dictionary")
			}
			return d, err
		},
		Use: func(_ *testing.T, opened any) { use(opened.(*Lists)) },
	}
}

// Every byte of a small image, changed to every value, is an error or makes a dictionary that can
// be used.
func TestListsImage_EveryByte(t *testing.T) {
	_, first, second := sampleLists(t)
	image := listsToDamage("second", first, second)
	image.EveryByte(t, 256*256)
	image = listsToDamage("first", nil, first)
	image.EveryByte(t, 256*16)
}

func TestListsImage_RandomChanges(t *testing.T) {
	_, first, second := sampleLists(t)
	damaged.RandomChanges(t, []damaged.Image{listsToDamage("first", nil, first), listsToDamage("second", first, second)})
}

// Images of many things that take few bytes each, and are equal, take memory and time in
// proportion: minutes if each were compared with those before.
func TestImageOfEqualThings(t *testing.T) {
	n := 1 << 19
	if effort.Race { // one goroutine reads
		n = 1 << 14
	}
	values := binary.AppendUvarint([]byte{0}, uint64(n))
	values = append(values, make([]byte, n)...) // empty values
	lists := append([]byte{0, 0, 0, 0, 0, 0, 0, 0}, binary.AppendUvarint(nil, uint64(n))...)
	lists = append(lists, make([]byte, 2*n)...) // empty lists
	elements := append(binary.AppendUvarint([]byte{0}, uint64(n)), make([]byte, 17*n+7)...)
	for _, image := range []damaged.Image{
		listsToDamage("lists", nil, lists), listsToDamage("elements", nil, elements),
		{Name: "values", Bytes: values, Bad: ErrImage, Open: func(image []byte) (any, error) {
			d := NewValues(1)
			add, _, err := d.OpenImage(image, nil)
			if err == nil {
				add()
				for i := range n / 2 { // it grows, too
					if _, err := d.Intern(binary.AppendUvarint(nil, uint64(i))); err != nil {
						return nil, err
					}
				}
			}
			return d, err
		}, Use: func(t *testing.T, opened any) {
			if d := opened.(*Values); d.Len() != n+n/2 || d.Find(nil) != 1 {
				t.Errorf("%d values, the empty one is %d", d.Len(), d.Find(nil))
			}
		}},
	} {
		if err := image.Try(t, image.Bytes); err != nil {
			t.Error(err)
		}
	}
}

// Two images that a release of version SharedTexts wrote, one after the other, and what they have.
func TestListsImage_SharedTexts(t *testing.T) {
	images := []string{
		"0004000000000000000000000000000000010000000000000000000000000000000200000000000000000000000000000003000000000000" +
			"00000000000000000004010101000000050a0a0c0d1161206275696c642069646d61696e2e77726974652f7573722f62696e2f6170706120" +
			"6c6f6e6765722074657874616e64206f6e65206d6f72652074657874000302020a0105000701010a02010a020c076d61696e2e676f000600" +
			"0c03040000000f00010104071f73686f7274800500000573686f727400000100080201",
		"0401000000000000000000000000000000050301040405011f746865206c617465206f6e652c20616e64206f6e65206d6f72652074657874" +
			"0302000600000100050000010100140102030405",
	}
	d := NewLists(2)
	for _, text := range images {
		image, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		add, rest, err := d.OpenImage(image, SharedTexts, testList, testRecord)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%d bytes are left, %v", len(rest), err)
		}
		add()
	}
	mustElement(t, d, uuidOf(6), locationText(6, line("and one more text", "", "", 0, 0, 0))) // beside them, with a text of theirs
	image, _ := d.AppendImage(nil, ListsMark{})
	again := NewLists(3)
	addImage(t, again, image)
	checkSame(t, d, again)
	records := []string{
		"\x02\x0aa build id\x00\x07\x01\x01\x0amain.write\x0amain.write\x07main.go\x00\x06\x00\x0c/usr/bin/app\x00\x00\x00\x0f",
		"\x01a longer text\x1fshort\x80and one more text", "short", "the late one, and one more text", "\x00and one more text",
		locationText(6, line("and one more text", "", "", 0, 0, 0)),
	}
	for i, want := range records {
		if got := again.Record(again.FindElement(uuidOf(i + 1))); string(got) != want {
			t.Errorf("record %d is %q, want %q", i+1, got, want)
		}
	}
	for code, want := range [][]uuid.UUID{{uuidOf(1), uuidOf(2)}, {uuidOf(5), uuidOf(4), uuidOf(3), uuidOf(2), uuidOf(1)}} {
		if got := again.UUIDs(nil, uint32(code+1)); !slices.Equal(got, want) || again.FindList(want) != uint32(code+1) {
			t.Errorf("list %d is %v, want %v", code+1, got, want)
		}
	}
}

// What reading relies on is checked, and the error names the place.
func TestImageErrors(t *testing.T) {
	list := func(shared, own, width int, codes ...byte) []byte {
		return slices.Concat([]byte{byte(shared), byte(own<<widthBits | (width - 1))}, codes)
	}
	two := slices.Concat([]byte{0, 2, 0, 0}, make([]byte, 32), []byte{0}) // two elements without records, none late
	none := []byte{0, 0}                                                  // no record
	many := []byte{0, 17}
	for i := range 17 {
		many = append(many, list(min(i, 1), 1-min(i, 1), 1, []byte{1}[:1-min(i, 1)]...)...)
	}
	tests := []struct {
		name  string
		image []byte
		want  string
	}{
		{"elements that follow others", []byte{1, 0}, "0 elements follow 1, and the dictionary has 0"},
		{"elements beyond the end", []byte{0, 9, 1, 2}, "elements is 9, and there are bytes for 2"},
		{"a record that is not there", slices.Concat([]byte{0, 1, 2}, make([]byte, 16), []byte{0}, none, none, none), "an element has record 1 of 0"},
		{"a hashed record that is not there", slices.Concat([]byte{0, 1, 1, 0}, none, none, none), "an element has record 1 of 0"},
		{"a record that is hashed twice", slices.Concat([]byte{0, 4, 1, 1, 5, 1}, make([]byte, 16), []byte{0}, none, none, none), "an element has the hash of record 2, which is not behind 2"},
		{"a record below 1", slices.Concat([]byte{0, 1, 3}, make([]byte, 16), []byte{0}, none, none, none), "an element has record 0"},
		{"elements without ids", []byte{0, 2, 0, 0, 1, 2, 3}, "ids has 32 bytes, and 3 are left"},
		{"a late record of no element", slices.Concat(two[:len(two)-1], []byte{1, 3, 1}, none, none, none), "element is 3, at most 0"},
		{"records that follow others", slices.Concat(two, none, []byte{1, 0}, none), "0 records follow 1, and the dictionary has 0"},
		{"texts that follow others", slices.Concat(two, []byte{1, 0}, none, none), "0 values follow 1, and the dictionary has 0"},
		{"a long record", slices.Concat(two, none, []byte{0, 1, 0x0f, 0xe9, 0x07}, make([]byte, 1001), none), "record 1 has 1001 bytes, at most 1000"},
		{"a long location", slices.Concat(two, []byte{0, 1, 0xe7, 0x07}, make([]byte, 999), []byte{0, 1, 0, 1}, none), "record 1 has 1001 bytes, at most 1000"},
		{"a location with long lines", slices.Concat(two, []byte{0, 1, 0xf3, 0x03}, make([]byte, 499), []byte{0, 1, 0x11, 1, 7, 1, 1, 0, 0, 0, 0}, none), "record 1 has 1508 bytes, at most 1000"},
		{"a record with long texts", slices.Concat(two, []byte{0, 1, 0xe7, 0x07}, make([]byte, 999), []byte{0, 1, 0x1f, 2, 0, 0, 1, 0, 0}, none), "record 1 has 1001 bytes, at most 1000"},
		{"a form that is not there", slices.Concat(two, none, []byte{0, 1, 9, 0}, make([]byte, 9), none), "record 1 has the form 0x9"},
		{"a binary that is not there", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0, 2}, none), "binary is 2, at most 1"},
		{"a location without a binary", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0, 0}, none), "record 1 has no binary"},
		{"a function that is not there", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0x10, 1, 2, 0, 0, 0, 0, 0}, none), "function is 2, at most 1"},
		{"a system name that is not there", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0x10, 1, 0, 3, 0, 0, 0, 0}, none), "system name is 3, at most 2"},
		{"a file that is not there", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0x10, 1, 0, 0, 2, 0, 0, 0}, none), "file is 2, at most 1"},
		{"a text that is not there", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0x1f, 0, 2, 0, 0}, none), "text is 2, at most 1"},
		{"a record without an end", slices.Concat(two, none, []byte{0, 1, 0x1f, 2, 0}), "own bytes is 2, and there are bytes for 1"},
		{"a cut address", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 8, 1, 1}), "address has 8 bytes, and 1 are left"},
		{"a line beyond the end", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0xf0, 0, 1}), "function is no number"},
		{"many lines", slices.Concat(two, []byte{0, 1, 1, 0, 0, 1, 0xf0, 0xf2, 1, 1}), "lines is 242, at most 241"},
		{"a cut record", slices.Concat(two, []byte{0, 1, 9, 1, 1, 1}), "1 values have 9 bytes, and 3 are left"},
		{"an element that is not there", slices.Concat(two, none, none, []byte{0, 1}, list(0, 1, 1, 3)), "list 1 has element 3 of 2"},
		{"element 0", slices.Concat(two, none, none, []byte{0, 1}, list(0, 1, 1, 0)), "list 1 has element 0 of 2"},
		{"a list that shares with none", slices.Concat(two, none, none, []byte{0, 1}, list(1, 1, 1, 1)), "shared is 1, at most 0"},
		{"a list that shares too much", slices.Concat(two, none, none, []byte{0, 2}, list(0, 1, 1, 1), list(2, 1, 1, 1)), "shared is 2, at most 1"},
		{"a seventeenth list that is not whole", slices.Concat(two, none, none, many), "list 17 shares codes and must be whole"},
		{"a long list", slices.Concat(two, none, none, []byte{0, 2, 0, 0xb0, 0x09}, make([]byte, 300)), "list 1 has element 0 of 2"},
		{"a longer list", slices.Concat(two, none, none, []byte{0, 2, 0, 0xb4, 0x09}, make([]byte, 301)), "own and width is 1204, at most 1203"},
		{"a cut list", slices.Concat(two, none, none, []byte{0, 1}, list(0, 2, 1, 1)), "codes has 2 bytes, and 1 are left"},
		{"a needless byte", slices.Concat(two, none, none, []byte{0, 1, 0x80, 0}, list(0, 1, 1, 1)), "shared is no number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			image := listsToDamage(tt.name, nil, tt.image)
			if err := image.Try(t, tt.image); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("OpenImage: %v, want %q", err, tt.want)
			}
		})
	}
	full := NewLists(1) // 4 GiB of lists
	full.lists.bytes.n = math.MaxUint16 + 1
	if _, _, err := full.OpenImage(slices.Concat(two, none, none, []byte{0, 1}, list(0, 1, 1, 1)), LocationCodes, testList, testRecord); !errors.Is(err, ErrImage) || !strings.HasSuffix(err.Error(), "list 1 has no place") {
		t.Errorf("OpenImage: %v, want that there is no place", err)
	}
	if err := full.lists.add([]uint32{1}); !errors.Is(err, ErrFull) {
		t.Errorf("add: %v, want %v", err, ErrFull)
	}
	if _, _, err := NewValues(1).OpenImage([]byte{0, 2, 1, 2, 'a', 'b', 'c'}, func(value []byte) error {
		if len(value) == 2 {
			return errors.New("it has two bytes")
		}
		return nil
	}); !errors.Is(err, ErrImage) || !strings.HasSuffix(err.Error(), "value 2: it has two bytes") {
		t.Errorf("OpenImage: %v, want the error of the check", err)
	}
}

// FuzzListsImage opens any bytes as an image.
func FuzzListsImage(f *testing.F) {
	_, first, second := sampleLists(f)
	f.Add(first, false)
	f.Add(second, true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, image []byte, follow bool) {
		before := first
		if !follow {
			before = nil
		}
		lists := listsToDamage("lists", before, nil)
		_ = lists.Try(t, image)
	})
}

// BenchmarkListsImage writes and reads a dictionary of stacks, one of which is new for each.
func BenchmarkListsImage(b *testing.B) {
	const lists, depth = 30_000, 20
	d := NewLists(1)
	batch := make([][]uuid.UUID, 500)
	for lo := 0; lo < lists; lo += len(batch) {
		for i := range batch {
			batch[i] = stackOf((lo+i)*7919, depth)
		}
		mustLists(b, d, batch)
	}
	image, _ := d.AppendImage(nil, ListsMark{})
	load := func() *Lists {
		d := NewLists(1)
		add, _, err := d.OpenImage(image, LocationCodes, testList, testRecord)
		if err != nil {
			b.Fatal(err)
		}
		add()
		return d
	}
	b.Run("op=write", func(b *testing.B) {
		perValue(b, lists, func() { image, _ = d.AppendImage(image[:0], ListsMark{}) })
		b.ReportMetric(float64(len(image))/lists, "B/list")
		b.ReportMetric(float64(d.Elements())/lists, "elements/list")
	})
	b.Run("op=read", func(b *testing.B) { perValue(b, lists, func() { load() }) })
	b.Run("op=read+hash", func(b *testing.B) { perValue(b, lists, func() { load().FindList(nil) }) })
	b.Run("op=intern", func(b *testing.B) {
		perValue(b, lists, func() {
			d := NewLists(1)
			for lo := 0; lo < lists; lo += len(batch) {
				for i := range batch {
					batch[i] = stackOf((lo+i)*7919, depth)
				}
				mustLists(b, d, batch)
			}
		})
	})
}

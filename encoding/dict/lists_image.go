package dict

import (
	"errors"
	"iter"

	"github.com/google/uuid"

	"github.com/granarydb/granary/internal/fields"
)

// ListsMark is how far a Lists had grown when an image was written: the next image begins there. The zero
// ListsMark is the beginning. A mark is valid for one dictionary in memory only. For a dictionary that was
// read from images, Mark returns it.
type ListsMark struct {
	Elements, Texts, Records, Lists int // codes
	Late                            int // records that arrived after an image had their elements
}

// Mark returns the mark of the dictionary's present end. If the dictionary was read from images, the next
// image begins there.
func (d *Lists) Mark() ListsMark {
	d.mu.Lock()
	defer d.mu.Unlock()
	records := d.records.len() // before its texts
	return ListsMark{d.Elements(), d.records.texts.Len(), records, d.Len(), len(d.late)}
}

// AppendImageTo appends to dst the entries that the dictionary gained from a mark up to the mark to, in the
// order of codes. It writes elements, records and lists, and the records of elements that an earlier image
// has without a record. docs/format/dictionary.md draws the bytes. to comes from NextMark, Fit, or Mark of a
// dictionary that was read from images. The image replaces all images between the marks. An element that
// got its record after to can have it in the image, if another element had the same record before; the next
// image then repeats it.
//
// It takes the writers' lock briefly, and may run beside all methods except OpenImage and the function that
// it returns. It costs about 10 ns an element and 5 ns a list, and a copy of their bytes. After the first
// image, a record for an element in an earlier image takes 4 bytes more.
func (d *Lists) AppendImageTo(dst []byte, since, to ListsMark) (image []byte) {
	w := fields.Writer{Data: dst}
	w.Uint(uint64(since.Elements))
	w.Uint(uint64(to.Elements - since.Elements))
	d.elementsImage(&w, since, to)
	late := d.lateBetween(since, to)
	w.Uint(uint64(len(late)))
	for _, element := range late {
		w.Uint(uint64(element))
		w.Uint(uint64(d.recordAt(int(element)-1, to)))
	}
	w.Data = d.records.appendImageTo(w.Data, since.Texts, to.Texts, since.Records, to.Records)
	w.Uint(uint64(since.Lists))
	w.Uint(uint64(to.Lists - since.Lists))
	d.lists.image(&w, since.Lists, to.Lists)
	return w.Data
}

// elementsImage writes the records of elements, and each id that is not the hash of a record.
func (d *Lists) elementsImage(w *fields.Writer, since, to ListsMark) {
	var ids []byte
	last, hashed := uint32(since.Records), uint32(0)
	for i := since.Elements; i < to.Elements; i++ {
		code := d.recordAt(i, to)
		if code == last+1 && code > hashed && d.isHashed(i) {
			w.Uint(hashedID)
			last, hashed = code, code
			continue
		}
		id := d.elements.ids.at(i)
		ids = append(ids, id[:]...)
		if code == 0 {
			w.Uint(0)
			continue
		}
		w.Uint(ownID + fields.Zigzag(uint64(code)-uint64(last)-1))
		last = code
	}
	w.Raw(ids)
}

// The number of an element in an image. It is 0 if the element has no record.
const (
	hashedID = 1 // the element has the next record, and its id is the hash of that
	ownID    = 2 // the image has the id; the signed difference to the next record is added
)

// recordAt returns the code of the i-th element's record, 0 for a record that it got after the mark,
// because the next image has that as a late record.
func (d *Lists) recordAt(i int, to ListsMark) uint32 {
	if code := d.recordOf.at(i).Load(); code <= uint32(to.Records) {
		return code
	}
	return 0
}

// NextMark returns the mark of an image that is made now, or in several steps from now on. A record that an
// element up to the mark gets later counts as late. It comes after the mark's Late, or the mark's Records
// include it. It takes the writers' lock briefly.
func (d *Lists) NextMark() (now ListsMark) {
	now.Lists = d.Len() // read before Elements, so that no list has an element past the mark
	now.Elements = d.Elements()
	for logged := d.logged.Load(); logged < uint32(now.Elements); logged = d.logged.Load() {
		d.logged.CompareAndSwap(logged, uint32(now.Elements))
	}
	d.mu.Lock()
	now.Late = len(d.late)
	d.mu.Unlock()
	now.Records = d.records.len()     // after Late, so that it has all records that are not late
	now.Texts = d.records.texts.Len() // last, so that it has all texts of these records
	return now
}

// Fit returns the first mark at which an image from since takes `bytes` bytes or more, at most the mark to,
// which NextMark returned, and the bytes that are left. Records come before elements, and elements before
// lists, so that no image depends on a later one. It costs 1 ns an entry.
func (d *Lists) Fit(since, to ListsMark, bytes int) (next ListsMark, left int) {
	const late, element = 8, 20 // upper bounds of most
	next = since
	next.Texts, next.Records, left = d.records.fit(since, to, bytes)
	next.Late, left = fitMany(since.Late, to.Late, late, left)
	next.Elements, left = fitMany(since.Elements, to.Elements, element, left)
	next.Lists, left = d.lists.fit(since.Lists, to.Lists, left)
	return next, left
}

// fitMany is Fit for entries with one size.
func fitMany(since, to, size, bytes int) (next, left int) {
	n := min(to-since, (max(bytes, 0)+size-1)/size)
	return since + n, bytes - n*size
}

// lateBetween returns the elements up to since that got a record between two marks.
func (d *Lists) lateBetween(since, to ListsMark) (late []uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, element := range d.late[since.Late:to.Late] {
		if int(element) <= since.Elements {
			late = append(late, element)
		}
	}
	return late
}

// listsImage is a checked image.
type listsImage struct {
	ids        []byte   // of elements that are not hashed
	recordOf   []uint32 // by element
	hashed     []bool   // by element: its id is the hash of its record
	late       []uint32 // elements and records in turns
	records    recordsImage
	addRecords func(*recordsImage)
	lists      []byte
	listCount  int
}

// Version is the version of an image. Images are written in the newest.
type Version int

const (
	// WholeRecords are images of releases before shared texts.
	WholeRecords Version = iota + 1
	// SharedTexts are images of releases that cut records into texts, whatever they mean.
	SharedTexts
	// LocationCodes are images with the texts of locations apart.
	LocationCodes
)

// OpenImage checks an image of the entries that follow the dictionary's. Lists have at most maxList
// elements, and records at most maxRecord bytes. It returns a function that adds the entries with their
// former codes, to be called once, and the bytes that follow the image. An error wraps ErrImage, and
// changes nothing.
//
// It does not check that elements and lists are distinct, among themselves or from the dictionary's
// entries, because a search then returns any of the equal entries. Records are arbitrary bytes, and so are texts that describe
// binaries: readers of locations report them.
//
// Nobody else may use the dictionary from this call until the image is added. Hashes and slots are not made
// until a search or a Union needs them, so that lists are quickly there for reading. A list then takes 21
// to 26 bytes more, an element 5 to 10. The content is copied.
func (d *Lists) OpenImage(image []byte, version Version, maxList, maxRecord int) (add func(), rest []byte, err error) {
	r := fields.NewReader(image, ErrImage)
	in := d.readImage(&r, version, maxList, maxRecord)
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	return func() { d.addImage(&in) }, r.Peek(), nil
}

func (d *Lists) readImage(r *fields.Reader, version Version, maxList, maxRecord int) (in listsImage) {
	r.In("elements")
	if version == LocationCodes {
		d.readElements(r, &in)
	} else {
		d.readOldElements(r, &in)
	}
	n, most := len(in.recordOf), uint32(0)
	for _, code := range in.recordOf {
		most = max(most, code)
	}
	r.In("late records")
	for range r.Count("late records", 2) {
		element, record := r.Uint("element", uint64(d.Elements())), r.Uint("record", maxCodes)
		if element == 0 || record == 0 {
			r.Failf("element %d has record %d", element, record)
			return in
		}
		in.late = append(in.late, uint32(element), uint32(record))
		most = max(most, uint32(record))
	}
	read := d.records.readImage
	in.addRecords = d.records.addImage
	switch version {
	case WholeRecords:
		read, in.addRecords = d.records.readWhole, d.records.addWhole
	case SharedTexts:
		read, in.addRecords = d.records.readShared, d.records.addShared
	}
	in.records = read(r, maxRecord)
	if records := d.records.len() + in.records.n; most > uint32(records) {
		r.Failf("an element has record %d of %d", most, records)
	}
	r.In("lists")
	in.listCount = follows(r, "lists", d.Len(), 2)
	in.lists = d.lists.readImage(r, in.listCount, d.Elements()+n, maxList)
	return in
}

// readElements is the inverse of elementsImage.
func (d *Lists) readElements(r *fields.Reader, in *listsImage) {
	n := follows(r, "elements", d.Elements(), 1)
	in.recordOf, in.hashed = make([]uint32, n), make([]bool, n)
	own, last, hashed := n, uint32(d.records.len()), uint32(0)
	for i := range in.recordOf {
		switch v := r.Uint("record", 1<<34); v {
		case 0:
		case hashedID:
			if last++; last <= hashed {
				r.Failf("an element has the hash of record %d, which is not behind %d", last, hashed)
			}
			own, hashed = own-1, last
			in.recordOf[i], in.hashed[i] = last, true
		default:
			last = recordBehind(r, last, v-ownID)
			in.recordOf[i] = last
		}
	}
	in.ids = r.Raw("ids", len(uuid.UUID{})*own)
}

// readOldElements reads the elements of an image of an earlier version: all ids, and then a record of each, 0 for none and else 1
// more than the signed difference.
func (d *Lists) readOldElements(r *fields.Reader, in *listsImage) {
	n := follows(r, "elements", d.Elements(), len(uuid.UUID{}))
	in.ids = r.Raw("ids", len(uuid.UUID{})*n)
	in.recordOf, in.hashed = make([]uint32, n), make([]bool, n)
	last := uint32(d.records.len())
	for i := range in.recordOf {
		if v := r.Uint("record", 1<<34); v > 0 {
			last = recordBehind(r, last, v-1)
			in.recordOf[i] = last
		}
	}
}

// recordBehind returns the record with a signed difference to the next record, last+1.
func recordBehind(r *fields.Reader, last uint32, difference uint64) uint32 {
	at := int64(last) + 1 + int64(difference>>1^-(difference&1))
	if at < 1 || at > maxCodes {
		r.Failf("an element has record %d", at)
		return last
	}
	return uint32(at)
}

func (d *Lists) addImage(in *listsImage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, record := range in.recordOf {
		at := d.Elements() + i
		d.growRecords(at)
		d.recordOf.at(at).Store(record)
		if in.hashed[i] {
			d.setHashed(at)
		}
	}
	for ; len(in.late) > 0; in.late = in.late[2:] {
		d.recordOf.at(int(in.late[0])-1).CompareAndSwap(0, in.late[1])
		d.late = append(d.late, in.late[0]) // for images from an earlier mark
	}
	in.addRecords(&in.records)
	if len(in.recordOf)+in.listCount == 0 {
		return // elements and lists stay as they are, with hashes or without
	}
	d.elements.addImage(d.idsOf(in))
	d.logged.Store(uint32(d.Elements())) // in this image
	d.lists.addImage(in.lists)
	lists := uint32(d.Len() + in.listCount)
	d.hashes = idSet{}
	d.hashes.n.Store(lists)
	d.bare.Store(true)
}

// idsOf yields the ids of an image's elements, whose records are added.
func (d *Lists) idsOf(in *listsImage) iter.Seq[uuid.UUID] {
	return func(yield func(uuid.UUID) bool) {
		view, ids := d.records.view(), in.ids
		var buf []byte
		for i, code := range in.recordOf {
			var id uuid.UUID
			if in.hashed[i] {
				id = view.id(&buf, int(code)-1)
			} else {
				id, ids = uuid.UUID(ids[:len(id)]), ids[len(id):]
			}
			if !yield(id) {
				return
			}
		}
	}
}

// Prepare makes missing hashes and slots of elements and lists that came as images. Size does not grow
// without additions from then on. It costs about 200 ns a list of 20 elements.
func (d *Lists) Prepare() { d.hashed() }

// hashed makes the hashes and slots that addImage left out.
func (d *Lists) hashed() {
	if d.bare.Load() {
		d.hashAll()
	}
}

func (d *Lists) hashAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.bare.Load() {
		return
	}
	d.elements.fill(d.key.hash)
	cursor := d.View().Cursor()
	for i := range d.Len() {
		cursor.Move(uint32(i + 1))
		d.hashes.ids.grow(i)
		d.listHash(d.hashes.ids.at(i), cursor.UUIDs())
	}
	d.hashes.fill(slotHash)
	d.settled.Store(uint32(d.Len()))
	d.bare.Store(false)
}

// ErrImage reports bytes that are not an image, or an image that does not continue the dictionary.
// Its text names the fault and its place.
var ErrImage = errors.New("malformed image")

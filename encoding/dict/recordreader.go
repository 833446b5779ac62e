package dict

import "github.com/google/uuid"

// CodedLocation is a record that is kept as codes. A code belongs to a RecordReader, whose Text returns the text; 0 is no text.
// Texts with equal codes are equal; equal texts can have several codes.
type CodedLocation struct {
	// Binary is the text that describes the binary: the flags, the build id and the file of the record, and what follows
	// its lines.
	Binary  uint32
	Address uint64
	Lines   []CodedLine // innermost first
}

// CodedLine is a line of a CodedLocation.
type CodedLine struct {
	Function, SystemName, File uint32
	StartLine, Line, Column    int64
	HasFunction                bool
}

// RecordReader reads records of a view's elements, as codes of the texts that records share, so that a caller of
// many records looks at each text once. It is not safe for concurrent use.
type RecordReader struct {
	from     ListView
	views    []recordsView // by dictionary
	known    []knownRecords
	buf      []byte
	location CodedLocation
}

// knownRecords is what a dictionary had when the reader was made: the number of its records, and the range of the
// reader's codes for its texts.
type knownRecords struct{ records, base, texts uint32 }

// RecordReader returns a reader. It costs some ns for each dictionary.
func (l ListView) RecordReader() *RecordReader {
	r := &RecordReader{from: l}
	base := uint32(0)
	for _, d := range l.dicts {
		// A record is counted after its texts, so it is counted here before them.
		n := uint32(d.records.len())
		texts := uint32(d.records.texts.Len())
		r.views = append(r.views, d.records.view())
		r.known = append(r.known, knownRecords{n, base, texts})
		base += texts
	}
	return r
}

// Read returns an element's record, or the location that it is kept as; both are nil if it has none. They are valid until the
// next call, and must not be changed. A record that came after the reader is no location. A location costs about 20 ns, and
// 30 ns for each line, if the processor's caches do not hold the dictionary.
func (r *RecordReader) Read(code uint32) (record []byte, location *CodedLocation) {
	stored, dict, record := r.stored(code)
	if stored == nil {
		return record, nil
	}
	c, l, base := locationCursor{stored}, &r.location, r.known[dict].base
	binary, address, lines := c.head()
	l.Binary, l.Address = behind(base, uint64(binary)), address
	if cap(l.Lines) < lines {
		l.Lines = make([]CodedLine, lines)
	}
	l.Lines = l.Lines[:lines]
	for i := range l.Lines {
		c.line(&l.Lines[i], base)
	}
	return nil, l
}

// Record returns an element's record, nil if it has none. It is valid until the next call, and must not be changed. A
// location costs about 10 ns for each of its texts.
func (r *RecordReader) Record(code uint32) []byte { return r.from.ReadRecord(&r.buf, code) }

// Element returns the element with a code.
func (r *RecordReader) Element(code uint32) uuid.UUID { return r.from.Element(code) }

// Binary returns an element's record, or the code of the text that describes its binary (CodedLocation.Binary); without a record it
// returns nil and 0. The record is as in Read. It costs about 10 ns.
func (r *RecordReader) Binary(code uint32) (record []byte, binary uint32) {
	stored, dict, record := r.stored(code)
	if stored == nil {
		return record, 0
	}
	binary, _, _ = (&locationCursor{stored}).head()
	return nil, behind(r.known[dict].base, uint64(binary))
}

// stored returns the stored form of an element's location and its dictionary, or the record if it is kept in another form.
func (r *RecordReader) stored(code uint32) (stored []byte, dict int, record []byte) {
	dict, code = r.from.place(code)
	of := r.from.dicts[dict].recordOf.at(int(code) - 1).Load()
	switch {
	case of == 0:
		return nil, dict, nil
	case of > r.known[dict].records:
		v := r.from.dicts[dict].records.view()
		return nil, dict, v.read(&r.buf, int(of)-1)
	}
	v := &r.views[dict]
	if stored = v.from(int(of) - 1); stored[0] == wholeForm || stored[0] == textsForm {
		return nil, dict, v.read(&r.buf, int(of)-1)
	}
	return stored, dict, nil
}

// Text returns the text with a code, nil for code 0. It must not be changed, and stays valid.
func (r *RecordReader) Text(code uint32) []byte {
	if code == 0 {
		return nil
	}
	dict := len(r.known) - 1
	for dict > 0 && code <= r.known[dict].base {
		dict--
	}
	return r.views[dict].text(code - r.known[dict].base)
}

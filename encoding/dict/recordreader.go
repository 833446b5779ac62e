package dict

// SharedText is a text within a record, record[Start:End]. Texts with equal codes are equal, in all records of one
// reader; equal texts can have several codes.
type SharedText = struct{ Start, End, Code uint32 }

// RecordReader reads records of a view's elements with the texts in them that records share, so that a caller of
// many records looks at each text once. It is not safe for concurrent use.
type RecordReader struct {
	from  ListView
	views []recordsView // by dictionary
	known []knownRecords
	buf   []byte
	texts []SharedText
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

// Read returns an element's record, nil if it has none, and the shared texts in it, in order. Both are valid until the
// next call, and must not be changed. A record that came after the reader has no shared texts. It costs about 10 ns for
// each text.
func (r *RecordReader) Read(code uint32) (record []byte, texts []SharedText) {
	dict, code := r.from.place(code)
	of := r.from.dicts[dict].recordOf.at(int(code) - 1).Load()
	switch {
	case of == 0:
		return nil, nil
	case of > r.known[dict].records:
		v := r.from.dicts[dict].records.view()
		return v.read(&r.buf, int(of)-1), nil
	}
	r.texts = r.texts[:0]
	record = r.views[dict].readTexts(&r.buf, int(of)-1, &r.texts, r.known[dict].base)
	return record, r.texts
}

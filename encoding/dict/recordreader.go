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
	dict := 0
	for at := len(r.from.dicts) - 1; r.from.refs != nil && at > 0; at-- {
		if code > r.from.bases[at] {
			dict, code = at, code-r.from.bases[at]
			break
		}
	}
	of := r.from.dicts[dict].recordOf.at(int(code) - 1).Load()
	switch {
	case of == 0:
		return nil, nil
	case of > r.known[dict].records:
		v := r.from.dicts[dict].records.view()
		return v.read(&r.buf, int(of)-1), nil
	}
	return r.read(dict, int(of)-1)
}

// read is recordsView.read that notes the texts.
func (r *RecordReader) read(dict, i int) ([]byte, []SharedText) {
	v, known := &r.views[dict], &r.known[dict]
	at := v.places[uint(i)/pageLen][uint(i)%pageLen]
	stored := v.stored[at.block/pageLen][at.block%pageLen][at.offset:]
	length, n := small(stored)
	if end := n + int(length); stored[end] == 0 { // whole
		return stored[n:end:end], nil
	}
	own, text, stored := next(stored)
	record, texts := append(r.buf[:0], own...), r.texts[:0]
	for text != 0 {
		if e := &v.entries[(text-1)/pageLen][(text-1)%pageLen]; e.length > 0 {
			start := uint32(len(record))
			record = append(record, v.texts[e.block/pageLen][e.block%pageLen][e.offset:e.offset+e.length]...)
			texts = append(texts, SharedText{start, uint32(len(record)), known.base + text})
		}
		own, text, stored = next(stored)
		record = append(record, own...)
	}
	r.buf, r.texts = record, texts
	return record, texts
}

package dict

import (
	"github.com/granarydb/granary/internal/fields"
)

// appendImageTo appends to dst the records with codes above since up to last, and the texts between two codes, which
// have all that these records name and earlier images lack.
func (r *records) appendImageTo(dst []byte, texts, lastText, since, last int) []byte {
	w := fields.Writer{Data: r.texts.AppendImageTo(dst, texts, lastText)}
	w.Uint(uint64(since))
	w.Uint(uint64(last - since))
	for code := since + 1; code <= last; code++ {
		w.Raw(r.stored(uint32(code)))
	}
	return w.Data
}

// fit is Values.Fit for texts and records. Texts come before records, so that no image depends on a later one. It costs
// 20 ns a record.
func (r *records) fit(since, to ListsMark, bytes int) (texts, records, left int) {
	texts, left = r.texts.Fit(since.Texts, to.Texts, bytes)
	for records = since.Records; records < to.Records && left > 0; records++ {
		left -= len(r.stored(uint32(records + 1)))
	}
	return texts, records, left
}

// recordsImage is a checked image.
type recordsImage struct {
	n       int
	stored  []byte   // records in their stored form, end to end
	lengths []uint32 // of texts, or in version 1 of whole records
	bytes   []byte   // of these
}

// readImage reads an image. A record has at most `most` bytes.
func (r *records) readImage(in *fields.Reader, most int) (image recordsImage) {
	in.In("texts")
	image.lengths, image.bytes = r.texts.readImage(in, nil)
	in.In("records")
	image.n = follows(in, "records", r.len(), 2)
	from, before := in.Peek(), in.Left()
	for i := range image.n {
		r.checkRecord(in, image.lengths, r.len()+i+1, most)
	}
	image.stored = from[:before-in.Left()]
	return image
}

// checkRecord reads a record in its stored form. New texts have the given lengths.
func (r *records) checkRecord(in *fields.Reader, lengths []uint32, code, most int) {
	known := r.texts.Len()
	for bytes := 0; ; {
		own := in.Count("own bytes", 1)
		in.Raw("own bytes", own)
		text := int(in.Uint("text", uint64(known+len(lengths))))
		if bytes += own; text > known {
			bytes += int(lengths[text-known-1])
		} else if text > 0 {
			bytes += int(r.texts.entries.at(text - 1).length)
		}
		if bytes > most {
			in.Failf("record %d has %d bytes, at most %d", code, bytes, most)
		}
		if text == 0 || in.Err() != nil {
			return
		}
	}
}

// readWhole reads an image of version 1: whole records as values, and no texts.
func (r *records) readWhole(in *fields.Reader, most int) (image recordsImage) {
	in.In("records")
	image.n = follows(in, "records", r.len(), 1)
	image.lengths = make([]uint32, image.n)
	total := 0
	for i := range image.lengths {
		image.lengths[i] = uint32(in.Uint("length", uint64(most)))
		total += int(image.lengths[i])
	}
	if r.texts.Len()+total/leastText > maxCodes {
		in.Failf("%d bytes of records have too many texts", total)
	}
	image.bytes = in.Raw("bytes", total)
	return image
}

// addImage adds the records of an image that readImage has checked.
func (r *records) addImage(image *recordsImage) {
	r.texts.addImage(image.lengths, image.bytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	for rest := image.stored; len(rest) > 0; {
		var stored []byte
		stored, rest = first(rest)
		r.keep(stored)
	}
}

// addWhole adds the records of an image that readWhole has checked.
func (r *records) addWhole(image *recordsImage) {
	for _, length := range image.lengths {
		_, _ = r.add(image.bytes[:length]) // there are codes
		image.bytes = image.bytes[length:]
	}
}

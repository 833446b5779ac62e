package dict

import (
	"math"
	"math/bits"

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
	stored  []byte   // records in their stored form, end to end; in version SharedTexts without its first byte
	lengths []uint32 // of texts, or in version WholeRecords of records
	bytes   []byte   // of these
}

// recordsReader reads an image of records.
type recordsReader struct {
	*fields.Reader
	known   *Values
	lengths []uint32 // of new texts
	most    int      // bytes of a record
	code    int      // of the present record
}

// readImage reads an image. A record has at most `most` bytes.
func (r *records) readImage(in *fields.Reader, most int) recordsImage {
	return r.readRecords(in, most, (*recordsReader).record)
}

// readShared reads an image of version SharedTexts.
func (r *records) readShared(in *fields.Reader, most int) recordsImage {
	return r.readRecords(in, most, (*recordsReader).texts)
}

// readRecords reads an image of texts, and of records by read.
func (r *records) readRecords(in *fields.Reader, most int, read func(*recordsReader)) (image recordsImage) {
	in.In("texts")
	image.lengths, image.bytes = r.texts.readImage(in, nil)
	in.In("records")
	image.n = follows(in, "records", r.len(), 2)
	from, before := in.Peek(), in.Left()
	of := recordsReader{in, r.texts, image.lengths, most, r.len()}
	for i := 0; i < image.n && in.Err() == nil; i++ {
		of.code++
		read(&of)
	}
	image.stored = from[:before-in.Left()]
	return image
}

// record reads a record in its stored form.
func (in *recordsReader) record() {
	switch form := in.Raw("form", 1); {
	case in.Err() != nil:
	case form[0] == wholeForm:
		n := in.Count("bytes of a record", 1)
		in.Raw("bytes of a record", n)
		in.limit(n)
	case form[0] == textsForm:
		in.texts()
	case form[0]&15 > 8:
		in.Failf("record %d has the form %#x", in.code, form[0])
	default:
		in.location(int(form[0]>>4), int(form[0]&15))
	}
}

// location reads a location behind its first byte.
func (in *recordsReader) location(lines, width int) {
	if lines == manyLines {
		lines += int(in.Uint("lines", mostLines-manyLines))
	}
	texts := uint64(in.known.Len() + len(in.lengths))
	binary := in.Uint("binary", texts)
	if binary == 0 {
		in.Failf("record %d has no binary", in.code)
	}
	bytes := in.length(binary)
	bytes += numberBytes(lowestFirst(in.Raw("address", width))) + numberBytes(uint64(lines))
	for i := 0; i < lines && in.Err() == nil; i++ {
		function, system, file := in.Uint("function", texts), in.Uint("system name", texts+1), in.Uint("file", texts)
		if system == sameSystem {
			system = function
		} else if system > 0 {
			system--
		}
		for _, code := range [...]uint64{function, system, file} {
			length := in.length(code)
			bytes += numberBytes(uint64(length)) + length
		}
		start, line, column := in.Uint("start line", math.MaxUint64), in.Uint("line", math.MaxUint64), in.Uint("column", math.MaxUint64)
		bytes += 1 + numberBytes(start) + numberBytes(line) + numberBytes(column>>1)
		in.limit(bytes)
	}
	in.limit(bytes)
}

// numberBytes returns the number of bytes of a varint.
func numberBytes(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// texts reads a record in the form of record_texts.go, behind its first byte.
func (in *recordsReader) texts() {
	for bytes := 0; ; {
		own := in.Count("own bytes", 1)
		in.Raw("own bytes", own)
		text := in.Uint("text", uint64(in.known.Len()+len(in.lengths)))
		bytes += own + in.length(text)
		in.limit(bytes)
		if text == 0 || in.Err() != nil {
			return
		}
	}
}

// length returns the length of a text, 0 for code 0.
func (in *recordsReader) length(code uint64) int {
	known := uint64(in.known.Len())
	switch {
	case code == 0:
		return 0
	case code > known:
		return int(in.lengths[code-known-1])
	}
	return int(in.known.entries.at(int(code) - 1).length)
}

// limit reports a record with too many bytes.
func (in *recordsReader) limit(bytes int) {
	if bytes > in.most {
		in.Failf("record %d has %d bytes, at most %d", in.code, bytes, in.most)
	}
}

// readWhole reads an image of version WholeRecords: records as values, and no texts.
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

// addShared adds the records of an image that readShared has checked.
func (r *records) addShared(image *recordsImage) {
	r.texts.addImage(image.lengths, image.bytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	var stored []byte
	for rest := image.stored; len(rest) > 0; {
		own, text, behind := next(rest)
		if text == 0 {
			r.keepWhole(own)
		} else {
			behind = pastTexts(rest)
			stored = append(append(stored[:0], textsForm), rest[:len(rest)-len(behind)]...)
			r.keep(stored)
		}
		rest = behind
	}
}

// addWhole adds the records of an image that readWhole has checked.
func (r *records) addWhole(image *recordsImage) {
	for _, length := range image.lengths {
		_ = r.addTexts(image.bytes[:length]) // there are codes
		image.bytes = image.bytes[length:]
	}
}

package pprof

import (
	"fmt"
)

// malformed reports bytes that are not a message of profile.proto, or that refer to missing entries.
// where is their place, and what the fault.
func malformed(where, what string) error {
	return fmt.Errorf("%w: malformed bytes: %s: %s", ErrProfile, where, what)
}

// atByte is malformed at an offset in the decompressed profile.
func atByte(at int, what string) error { return malformed(fmt.Sprintf("byte %d", at), what) }

// Faults of a message.
const (
	cutOff    = "a field is cut off"
	wrongType = "a field has the wrong wire type"
)

// fieldNames are the names of profile.proto.
var fieldNames = [...]string{
	fieldSampleType: "sample_type", fieldSample: "sample", fieldMapping: "mapping", fieldLocation: "location",
	fieldFunction: "function", fieldString: "string_table", fieldDropFrames: "drop_frames", fieldKeepFrames: "keep_frames",
	fieldTime: "time_nanos", fieldDuration: "duration_nanos", fieldPeriodType: "period_type", fieldPeriod: "period",
	fieldComment: "comment", fieldDefaultType: "default_sample_type", fieldDocURL: "doc_url",
}

// Fields of the messages of profile.proto.
const (
	fieldSampleType = 1 + iota
	fieldSample
	fieldMapping
	fieldLocation
	fieldFunction
	fieldString
	fieldDropFrames
	fieldKeepFrames
	fieldTime
	fieldDuration
	fieldPeriodType
	fieldPeriod
	fieldComment
	fieldDefaultType
	fieldDocURL
)

const (
	sampleStack = 1 + iota
	sampleValues
	sampleLabel
)

const locationLine = 4

// decoder decodes an encoded profile into a flat one. It accepts the bytes that pprof.ParseUncompressed
// and CheckValid accept, and refuses all others (C1). Samples are read in a second pass, because they
// refer to tables that often follow them.
type decoder struct {
	*Flat
	limits Limits

	mappingIDs, functionIDs, locationIDs idIndex

	samplesSeen int
	firstSample int       // offset in the bytes
	mostString  uint64    // largest index of a string outside the tables, for a later check
	texts       [3]uint64 // indexes of Flat.Preferred, DropFrames and KeepFrames
}

// Decode decodes a profile into f within the limits, which also bound the memory that it
// allocates. f retains parts of data. Bytes of a string that are not UTF-8 become U+FFFD. Errors wrap ErrProfile
// or ErrTooLarge.
func Decode(data string, limits Limits, f *Flat) error {
	f.Reset()
	d := decoder{Flat: f, limits: limits}
	if err := d.tables(data); err != nil {
		return err
	}
	if err := d.link(); err != nil {
		return err
	}
	f.mend()
	if err := d.samplesOf(data); err != nil {
		return err
	}
	return f.check()
}

// tables reads everything except the samples.
func (d *decoder) tables(data string) error {
	var one [fieldDocURL + 1]uint64 // numbers of the profile message, by field
	for at := 0; at < len(data); {
		tag, number, text, next := field(data, at)
		if next > len(data) {
			return atByte(at, cutOff)
		}
		i := tag >> 3
		if i == 0 || i > fieldDocURL {
			at = next
			continue
		}
		var err error
		switch typ := tag & 7; {
		case i == fieldComment:
			if !d.comments(typ, number, text) {
				return atByte(at, "comment: it is no list of numbers")
			}
		case isMessage(i) != (typ == wireBytes) || !isMessage(i) && typ != wireVarint:
			return atByte(at, fieldNames[i]+": it has the wrong wire type")
		case i == fieldSample:
			if d.samplesSeen++; d.samplesSeen == 1 {
				d.firstSample = at
			}
		case isMessage(i):
			err = d.entry(i, text, at)
		case i == fieldTime && one[i] != 0:
			return fmt.Errorf("%w: two concatenated profiles", ErrProfile)
		default:
			one[i] = number
		}
		if err != nil {
			return err
		}
		at = next
	}
	d.Time, d.Duration, d.Every = int64(one[fieldTime]), int64(one[fieldDuration]), int64(one[fieldPeriod])
	d.texts = [3]uint64{one[fieldDefaultType], one[fieldDropFrames], one[fieldKeepFrames]}
	d.mostString = max(d.mostString, d.texts[0], d.texts[1], d.texts[2], one[fieldDocURL])
	return bound("samples", d.samplesSeen, d.limits.Samples)
}

// isMessage reports whether a field of the profile message is encoded as bytes.
func isMessage(field uint64) bool { return field <= fieldString || field == fieldPeriodType }

// comments checks the string indexes of comments, which are not kept.
func (d *decoder) comments(typ, number uint64, packed string) bool {
	if typ == wireVarint {
		d.mostString = max(d.mostString, number)
		return true
	}
	at := 0
	for at < len(packed) {
		number, at = uvarint(packed, at)
		d.mostString = max(d.mostString, number)
	}
	return typ == wireBytes && at == len(packed)
}

// entry reads an entry of a table at an offset.
func (d *decoder) entry(field uint64, data string, offset int) error {
	wrong := ""
	switch field {
	case fieldSampleType:
		d.Types = append(d.Types, FlatType{})
		wrong = readType(data, &d.Types[len(d.Types)-1])
		if len(d.Types) > maxEntries {
			return bound("sample types", len(d.Types), maxEntries)
		}
	case fieldPeriodType:
		wrong = readType(data, &d.Period)
	case fieldMapping:
		wrong = d.mapping(data)
	case fieldFunction:
		wrong = d.function(data)
	case fieldLocation:
		wrong = d.location(data)
	case fieldString:
		if d.Strings = append(d.Strings, data); d.Strings[0] != "" {
			wrong = "the first string is not empty"
		}
	}
	if wrong != "" {
		return atByte(offset, fieldNames[field]+": "+wrong)
	}
	return d.boundEntries()
}

// boundEntries bounds the tables while they grow.
func (d *decoder) boundEntries() error {
	if n := max(len(d.Strings), len(d.Mappings), len(d.Functions), len(d.Locations), len(d.Lines)); n > maxEntries {
		return bound("strings, functions or lines", n, maxEntries)
	}
	return nil
}

// readType reads a type. It returns the fault, or "", as mapping, function and location do.
func readType(data string, t *FlatType) string {
	var v [3]uint64
	ok := numbers(data, v[:])
	t.Name, t.Unit = stringIndex(v[1]), stringIndex(v[2])
	if !ok {
		return notNumbers
	}
	return ""
}

const notNumbers = "a field is cut off, or has the wrong wire type"

// wrongID returns the fault of an id that ids refused.
func wrongID(id uint64) string {
	if id == 0 {
		return "it has no id"
	}
	return fmt.Sprintf("the id %d is there twice", id)
}

func (d *decoder) mapping(data string) string {
	var v [11]uint64
	if !numbers(data, v[:]) {
		return notNumbers
	}
	if !d.mappingIDs.add(v[1]) {
		return wrongID(v[1])
	}
	m := FlatMapping{Start: v[2], Limit: v[3], Offset: v[4], File: stringIndex(v[5]), BuildID: stringIndex(v[6])}
	for i, has := range v[7:] {
		if has != 0 {
			m.Has |= 1 << i
		}
	}
	if len(d.Mappings) == 1 {
		m.Has |= IsProgram
	}
	d.Mappings = append(d.Mappings, m)
	return ""
}

func (d *decoder) function(data string) string {
	var v [6]uint64
	if !numbers(data, v[:]) {
		return notNumbers
	}
	if !d.functionIDs.add(v[1]) {
		return wrongID(v[1])
	}
	d.Functions = append(d.Functions, FlatFunction{stringIndex(v[2]), stringIndex(v[3]), stringIndex(v[4]), int64(v[5])})
	return ""
}

// location reads a location. Its mapping and functions can follow later, and stay ids until link.
func (d *decoder) location(data string) string {
	var v [6]uint64
	for at := 0; at < len(data); {
		tag, number, text, next := field(data, at)
		if next > len(data) {
			return cutOff
		}
		at = next
		switch i := tag >> 3; {
		case i == 0 || i >= uint64(len(v)):
		case i == locationLine && tag&7 == wireBytes:
			var ln [4]uint64
			if !numbers(text, ln[:]) {
				return "line: " + notNumbers
			}
			if ln[1] == 0 {
				return "a line has no function"
			}
			if d.Lines = append(d.Lines, FlatLine{ln[1], int64(ln[2]), int64(ln[3])}); len(d.Lines) > maxEntries {
				return "" // boundEntries reports it
			}
		case i == locationLine || tag&7 != wireVarint:
			return wrongType
		default:
			v[i] = number
		}
	}
	if !d.locationIDs.add(v[1]) {
		return wrongID(v[1])
	}
	d.Locations = append(d.Locations, FlatLocation{v[3], v[2], uint32(len(d.Lines)), v[5] != 0})
	return ""
}

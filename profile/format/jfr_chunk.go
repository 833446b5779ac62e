package format

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/granarydb/granary/profile"
)

// jfrMagic begins each chunk of a recording.
const jfrMagic = "FLR\x00"

// Offsets in a chunk: its header is before the first event. All numbers of the header are big-endian.
const (
	jfrMajorAt    = 4
	jfrSizeAt     = 8
	jfrPoolsAt    = 16
	jfrMetadataAt = 24
	jfrStartAt    = 32 // Unix nanoseconds
	jfrDurationAt = 40 // nanoseconds
	jfrTicksAt    = 56 // per second
	jfrFeaturesAt = 64
	jfrHeader     = 68
)

// Bounds of a chunk. Recordings of JDK 21 have some thousand elements in their metadata, at most 5 in each other.
const (
	maxNested     = 16 // elements, or values, in each other
	maxElements   = 1 << 18
	maxAttributes = 64 // of an element
)

// jfrChunk reads a chunk of a recording. Its metadata describe the classes of all values in it. Its first error stays:
// reads return zeros then.
type jfrChunk struct {
	data    []byte
	at      int
	err     error
	classes map[uint64]*jfrClass
	named   map[string]*jfrClass // the same, by name
	labels  map[jfrConstant]string
	texts   int   // bytes of texts so far
	most    int   // bytes of texts, because many values may name one constant
	size    int   // elements of the metadata
	start   int64 // Unix nanoseconds
	end     int64
	ticks   int64 // per second
}

// jfrClass is a class of values: events, constants, and parts of them.
type jfrClass struct {
	name      string
	form      jfrForm
	fields    []jfrField
	constants map[uint64]int // their offsets, by their ids; nil for classes that no sample needs
}

// jfrConstant names a constant.
type jfrConstant struct {
	class string
	id    uint64
}

// jfrField is a field of a class. A constant is stored as its id.
type jfrField struct {
	class               *jfrClass // nil if the metadata have none
	id                  uint64    // of the class
	slot                jfrSlot
	isConstant, isArray bool
}

// jfrForm says how a value is stored.
type jfrForm int

const (
	jfrFields jfrForm = iota // the fields of its class
	jfrVarint
	jfrByte
	jfrFour  // bytes
	jfrEight // bytes
	jfrText
)

var jfrForms = map[string]jfrForm{
	"byte": jfrByte, "boolean": jfrByte, "short": jfrVarint, "char": jfrVarint, "int": jfrVarint, "long": jfrVarint,
	"float": jfrFour, "double": jfrEight, jfrString: jfrText,
}

// jfrSlot is the place of a field in jfrValues, by its name. The value of a text is its offset.
type jfrSlot int

type jfrValues [jfrSlots]uint64

const (
	jfrOther jfrSlot = iota // a field that nothing here needs
	jfrAllocated
	jfrContext
	jfrDescription
	jfrDuration
	jfrFrames
	jfrID
	jfrLine
	jfrMethod
	jfrName
	jfrSamples
	jfrSamplingPeriod
	jfrSize
	jfrSpan
	jfrSpanName
	jfrStack
	jfrState
	jfrSymbolText
	jfrTLAB
	jfrTraceHigh
	jfrTraceLow
	jfrType
	jfrValue
	jfrWeight
	jfrSlots
)

var jfrSlotOf = map[string]jfrSlot{
	"allocationSize": jfrAllocated, "contextId": jfrContext, "description": jfrDescription, "duration": jfrDuration, "frames": jfrFrames,
	"id": jfrID, "lineNumber": jfrLine, "method": jfrMethod, "name": jfrName, "samples": jfrSamples, "samplingPeriod": jfrSamplingPeriod, "size": jfrSize, "spanId": jfrSpan,
	"spanName": jfrSpanName, "stackTrace": jfrStack, "state": jfrState, "string": jfrSymbolText, "tlabSize": jfrTLAB,
	"traceIdHi": jfrTraceHigh, "traceIdLo": jfrTraceLow, "type": jfrType, "value": jfrValue, "weight": jfrWeight,
}

// The classes whose constants samples need.
const (
	jfrString      = "java.lang.String"
	jfrClassName   = "java.lang.Class"
	jfrMethodName  = "jdk.types.Method"
	jfrSymbol      = "jdk.types.Symbol"
	jfrStackTrace  = "jdk.types.StackTrace"
	jfrFrameType   = "jdk.types.FrameType"
	jfrThreadState = "jdk.types.ThreadState"
)

var jfrKept = []string{jfrString, jfrClassName, jfrMethodName, jfrSymbol, jfrStackTrace, jfrFrameType, jfrThreadState}

// readChunk returns the first chunk of a recording with its metadata and constants, and the bytes behind it. All texts that
// are read of it may have most bytes.
func readChunk(data []byte, most int) (c *jfrChunk, rest []byte, err error) {
	if len(data) < jfrHeader || !bytes.HasPrefix(data, []byte(jfrMagic)) {
		return nil, nil, invalid("want a chunk")
	}
	word := func(at int) uint64 { return binary.BigEndian.Uint64(data[at:]) }
	size := word(jfrSizeAt)
	switch major, features := binary.BigEndian.Uint16(data[jfrMajorAt:]), binary.BigEndian.Uint32(data[jfrFeaturesAt:]); {
	case major != 2:
		return nil, nil, invalid(fmt.Sprintf("version %d, want 2", major))
	case features&1 == 0:
		return nil, nil, invalid("numbers that are not compressed")
	case size == 0 || word(jfrPoolsAt) == 0:
		return nil, nil, invalid("the recording was not ended")
	case size < jfrHeader || size > uint64(len(data)):
		return nil, nil, invalid(fmt.Sprintf("a chunk of %d bytes, and %d are left: it is cut off", size, len(data)))
	}
	c = &jfrChunk{data: data[:size], most: most, classes: map[uint64]*jfrClass{}, named: map[string]*jfrClass{}, labels: map[jfrConstant]string{}}
	start, length, ticks := word(jfrStartAt), word(jfrDurationAt), word(jfrTicksAt)
	if ticks == 0 || ticks > math.MaxInt64 || start > math.MaxInt64 || length > math.MaxInt64-start {
		return nil, nil, invalid("a time of more than 63 bits")
	}
	c.start, c.end, c.ticks = int64(start), int64(start+length), int64(ticks)
	c.metadata(word(jfrMetadataAt))
	c.pools(word(jfrPoolsAt))
	return c, data[size:], c.err
}

// fail keeps the first error.
func (c *jfrChunk) fail(text string, args ...any) {
	if c.err == nil {
		c.err = invalid(fmt.Sprintf("at byte %d of a chunk: ", c.at) + fmt.Sprintf(text, args...))
	}
	c.at = len(c.data)
}

// bound makes more than most values of a kind an error.
func (c *jfrChunk) bound(what string, n, most int) {
	if n > most && c.err == nil {
		c.err = fmt.Errorf("%w: more than %d %s", profile.ErrTooLarge, most, what)
		c.at = len(c.data)
	}
}

// seek sets the place of the next read: behind the header.
func (c *jfrChunk) seek(at uint64) {
	if at < jfrHeader || at >= uint64(len(c.data)) {
		c.fail("a place %d outside of the chunk", at)
		return
	}
	c.at = int(at)
}

// take returns the next n bytes, or nil.
func (c *jfrChunk) take(n int) []byte {
	if n > len(c.data)-c.at {
		c.fail("it is cut off")
		return nil
	}
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *jfrChunk) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// long returns a number of 7 bits a byte, low ones first. The ninth byte has 8.
func (c *jfrChunk) long() (n uint64) {
	for shift := 0; shift < 56; shift += 7 {
		b := c.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	return n | uint64(c.byte())<<56
}

// count returns the number of values that follow. Each takes a byte or more.
func (c *jfrChunk) count() int {
	n := c.long()
	if n > uint64(len(c.data)-c.at) {
		c.fail("%d values in %d bytes", n, len(c.data)-c.at)
		return 0
	}
	return int(n)
}

// The forms of a text.
const (
	jfrNoText = iota
	jfrEmptyText
	jfrTextConstant
	jfrUTF8
	jfrUTF16
	jfrLatin1
)

// textAt returns the text at an offset, or "" at 0. A constant is not another constant.
func (c *jfrChunk) textAt(at uint64) string {
	if at == 0 {
		return ""
	}
	c.seek(at)
	if form := c.byte(); form != jfrTextConstant {
		return c.text(form)
	}
	at, ok := c.constant(jfrString, c.long())
	if !ok {
		return ""
	}
	c.seek(at)
	return c.text(c.byte())
}

// text returns a text of a form.
func (c *jfrChunk) text(form byte) string {
	n := 0
	if form >= jfrUTF8 {
		n = c.count()
		c.texts += n
		c.bound("bytes of names", c.texts, c.most)
	}
	switch form {
	case jfrNoText, jfrEmptyText:
	case jfrUTF8:
		return string(c.take(n))
	case jfrLatin1:
		var b strings.Builder
		for _, char := range c.take(n) {
			b.WriteRune(rune(char))
		}
		return b.String()
	case jfrUTF16:
		units := make([]uint16, n)
		for i := range units {
			units[i] = uint16(c.long())
		}
		return string(utf16.Decode(units))
	default:
		c.fail("a text of form %d", form)
	}
	return ""
}

// skipText moves behind a text.
func (c *jfrChunk) skipText() {
	switch form := c.byte(); form {
	case jfrNoText, jfrEmptyText:
	case jfrTextConstant:
		c.long()
	case jfrUTF8, jfrLatin1:
		c.take(c.count())
	case jfrUTF16:
		for range c.count() {
			c.long()
		}
	default:
		c.fail("a text of form %d", form)
	}
}

// metadata reads the classes.
func (c *jfrChunk) metadata(at uint64) {
	c.seek(at)
	for range 5 { // its size, type, start, duration and id
		c.long()
	}
	var names []string
	n := c.count()
	c.bound("names in metadata", n, maxTexts)
	for i := 0; i < n && c.err == nil; i++ {
		names = append(names, c.text(c.byte()))
	}
	c.element(names, nil, 0)
	for _, name := range jfrKept {
		if class := c.named[name]; class != nil {
			class.constants = map[uint64]int{}
		}
	}
	for _, class := range c.classes {
		for i := range class.fields {
			class.fields[i].class = c.classes[class.fields[i].id]
		}
	}
}

// element reads an element of the metadata with the elements in it: a class, a field of the class in, or another.
func (c *jfrChunk) element(names []string, in *jfrClass, depth int) {
	c.size++
	c.bound("elements in metadata", c.size, maxElements)
	c.bound("elements in each other", depth, maxNested)
	if c.err != nil {
		return
	}
	name := func() string {
		n := c.long()
		if n >= uint64(len(names)) {
			c.fail("name %d of %d", n, len(names))
			return ""
		}
		return names[n]
	}
	kind := name()
	n := c.count()
	c.bound("attributes of an element", n, maxAttributes)
	attributes := map[string]string{}
	for i := 0; i < n && c.err == nil; i++ {
		key := name()
		attributes[key] = name()
	}
	switch {
	case c.err != nil:
		return
	case kind == "class":
		in = &jfrClass{name: attributes["name"], form: jfrForms[attributes["name"]]}
		c.classes[c.id(attributes["id"])], c.named[in.name] = in, in
	case kind == "field" && in != nil:
		in.fields = append(in.fields, jfrField{
			id: c.id(attributes["class"]), slot: jfrSlotOf[attributes["name"]],
			isConstant: attributes["constantPool"] == "true", isArray: cmp.Or(attributes["dimension"], "0") != "0",
		})
	}
	for range c.count() {
		c.element(names, in, depth+1)
	}
}

// id returns a class's number, which metadata have as text.
func (c *jfrChunk) id(text string) uint64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.fail("%.100q is no number of a class", text)
	}
	return uint64(n)
}

// pools reads the lists of constants. Each names the one before it, and ends before the one behind it.
func (c *jfrChunk) pools(at uint64) {
	for end := uint64(len(c.data)); c.err == nil; {
		c.seek(at)
		for range 4 { // its size, type, start and duration
			c.long()
		}
		before := int64(c.long())
		c.long() // its kind
		for range c.count() {
			c.pool()
		}
		switch {
		case uint64(c.at) > end || before > 0 || before == math.MinInt64 || uint64(-before) > at:
			c.fail("lists of constants in each other")
		case before == 0:
			return
		}
		end, at = at, at-uint64(-before)
	}
}

// jfrChunkHeader is a class whose constant is not what its fields say.
const jfrChunkHeader = "jdk.types.ChunkHeader"

// pool reads the constants of a class.
func (c *jfrChunk) pool() {
	id := c.long()
	class := c.classes[id]
	switch {
	case class == nil:
		c.fail("constants of class %d, which the metadata do not have", id)
		return
	case class.name == jfrChunkHeader:
		c.take(jfrHeader + 3)
		return
	}
	n := c.count()
	for i := 0; i < n && c.err == nil; i++ {
		id := c.long()
		if class.constants != nil {
			class.constants[id] = c.at
			c.bound("constants of a class", len(class.constants), maxLocations)
		}
		c.value(class, 0)
	}
}

// constant returns the offset of a constant.
func (c *jfrChunk) constant(class string, id uint64) (at uint64, ok bool) {
	of := c.named[class]
	if of == nil {
		return 0, false
	}
	offset, ok := of.constants[id]
	return uint64(offset), ok
}

// value moves behind a value. It returns a number, or the offset of a text.
func (c *jfrChunk) value(class *jfrClass, depth int) uint64 {
	if class == nil {
		c.fail("a value of a class that the metadata do not have")
		return 0
	}
	switch class.form {
	case jfrVarint:
		return c.long()
	case jfrByte:
		return uint64(c.byte())
	case jfrFour:
		c.take(4)
	case jfrEight:
		c.take(8)
	case jfrText:
		at := c.at
		c.skipText()
		return uint64(at)
	default:
		c.fields(class, depth, nil)
	}
	return 0
}

// fields reads the fields of a class. It keeps values that have a slot, except lists.
func (c *jfrChunk) fields(class *jfrClass, depth int, to *jfrValues) {
	if depth > maxNested || len(class.fields) == 0 {
		c.fail("a value of class %.100q, which has no fields or is in itself", class.name)
	}
	for i := range class.fields {
		c.field(&class.fields[i], depth, to)
	}
}

func (c *jfrChunk) field(f *jfrField, depth int, to *jfrValues) {
	n := 1
	if f.isArray {
		n = c.count()
	}
	for range n {
		if c.err != nil {
			return
		}
		var value uint64
		if f.isConstant {
			value = c.long()
		} else {
			value = c.value(f.class, depth+1)
		}
		if to != nil && !f.isArray {
			to[f.slot] = value
		}
	}
}

// record returns the fields of a constant. ok is false if there is none.
func (c *jfrChunk) record(class string, id uint64) (v jfrValues, ok bool) {
	at, ok := c.constant(class, id)
	if ok {
		c.seek(at)
		c.fields(c.named[class], 0, &v)
	}
	return v, ok
}

// label returns the text in a field of a constant, or "". The field is the same for all constants of a class.
func (c *jfrChunk) label(class string, id uint64, slot jfrSlot) string {
	key := jfrConstant{class, id}
	text, known := c.labels[key]
	if known {
		return text
	}
	v, ok := c.record(class, id)
	switch {
	case !ok:
		return ""
	case class == jfrClassName:
		text = c.label(jfrSymbol, v[slot], jfrSymbolText)
	default:
		text = c.textAt(v[slot])
	}
	c.labels[key] = text
	return text
}

// nanos returns a duration in ticks as nanoseconds.
func (c *jfrChunk) nanos(ticks uint64) uint64 {
	if c.ticks == int64(time.Second) {
		return ticks
	}
	return uint64(min(math.Round(float64(ticks)*(float64(time.Second)/float64(c.ticks))), math.MaxInt64))
}

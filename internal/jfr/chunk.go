package jfr

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
)

// ChunkMagic begins each chunk of a recording.
const ChunkMagic = "FLR\x00"

// Offsets in a chunk: its header is before the first event. All numbers of the header are big-endian.
const (
	majorAt      = 4
	poolsAt      = 16
	metadataAt   = 24
	startAt      = 32 // Unix nanoseconds
	durationAt   = 40 // nanoseconds
	startTicksAt = 48
	ticksAt      = 56 // per second
	featuresAt   = 64
)

// HeaderBytes is the size of a chunk's header, and SizeAt the offset of the chunk's size in it.
const (
	HeaderBytes = 68
	SizeAt      = 8
)

// Bounds of a chunk. Recordings of JDK 21 have some thousand elements in their metadata, at most 5 in each other.
const (
	maxNested     = 16 // elements, or values, in each other
	maxElements   = 1 << 18
	maxAttributes = 64      // of an element
	maxConstants  = 1 << 20 // of a class
	maxTexts      = 1 << 20 // names in the metadata
)

// Chunk reads a chunk of a recording. Its metadata describe the classes of all values in it. Its first error stays:
// reads return zeros then. It belongs to one goroutine.
type Chunk struct {
	data    []byte
	at      int
	err     error
	classes map[uint64]*class
	named   map[string]*class // the same, by name
	labels  map[constantKey]string
	texts   int   // bytes of texts so far
	most    int   // bytes of texts, because many values may name one constant
	size    int   // elements of the metadata
	ticks   int64 // per second
	// startTicks is the time of Start in ticks.
	startTicks int64
	// Start and End are the times of the chunk, in Unix nanoseconds.
	Start, End int64
}

// class is a class of values: events, constants, and parts of them.
type class struct {
	name      string
	form      storage
	fields    []member
	constants map[uint64]int // their offsets, by their ids; nil for classes that no sample needs
}

// constantKey names a constant.
type constantKey struct {
	class string
	id    uint64
}

// member is a field of a class. A constant is stored as its id.
type member struct {
	class               *class // nil if the metadata have none
	id                  uint64 // of the class
	slot                Slot
	isConstant, isArray bool
}

// storage says how a value is stored.
type storage int

const (
	ofFields storage = iota // the fields of its class
	ofVarint
	ofByte
	ofFour  // bytes
	ofEight // bytes
	ofText
)

var forms = map[string]storage{
	"byte": ofByte, "boolean": ofByte, "short": ofVarint, "char": ofVarint, "int": ofVarint, "long": ofVarint,
	"float": ofFour, "double": ofEight, stringClass: ofText,
}

// Slot is the place of a field in Contents, by its name.
type Slot int

// Contents are the values of an event, or of a constant, by their slots. A text is its offset, for TextAt, and a constant its
// id. A field that is not there is 0, and so is a list.
type Contents [slots]uint64

// The slots, each for the fields with a name.
const (
	other Slot = iota // a field that nothing here needs
	SlotAllocated
	SlotContext
	SlotDescription
	SlotDuration
	SlotFrames
	SlotID
	SlotLine
	SlotMethod
	SlotName
	SlotSamples
	SlotSamplingPeriod
	SlotSize
	SlotSpan
	SlotSpanName
	SlotStack
	SlotState
	SlotSymbolText
	SlotTLAB
	SlotTraceHigh
	SlotTraceLow
	SlotType
	SlotValue
	SlotWeight
	SlotStartTime // in ticks, for Time
	SlotEventThread
	SlotJavaName
	SlotOSName
	SlotJavaThreadID
	SlotOSThreadID
	SlotMonitorClass
	SlotParkedClass
	SlotCause
	slots
)

var slotOf = map[string]Slot{
	"allocationSize": SlotAllocated, "contextId": SlotContext, "description": SlotDescription, "duration": SlotDuration, "frames": SlotFrames,
	"id": SlotID, "lineNumber": SlotLine, "method": SlotMethod, "name": SlotName, "samples": SlotSamples, "samplingPeriod": SlotSamplingPeriod, "size": SlotSize, "spanId": SlotSpan,
	"spanName": SlotSpanName, "stackTrace": SlotStack, "state": SlotState, "string": SlotSymbolText, "tlabSize": SlotTLAB,
	"traceIdHi": SlotTraceHigh, "traceIdLo": SlotTraceLow, "type": SlotType, "value": SlotValue, "weight": SlotWeight, "startTime": SlotStartTime, "eventThread": SlotEventThread, "javaName": SlotJavaName, "osName": SlotOSName,
	"javaThreadId": SlotJavaThreadID, "osThreadId": SlotOSThreadID, "monitorClass": SlotMonitorClass, "parkedClass": SlotParkedClass, "cause": SlotCause,
}

// The classes whose constants samples need.
const (
	stringClass = "java.lang.String"
	JavaClass   = "java.lang.Class"
	JavaMethod  = "jdk.types.Method"
	JavaSymbol  = "jdk.types.Symbol"
	stackTrace  = "jdk.types.StackTrace"
	FrameType   = "jdk.types.FrameType"
	ThreadState = "jdk.types.ThreadState"
	JavaThread  = "java.lang.Thread"
	GCCause     = "jdk.types.GCCause"
	GCName      = "jdk.types.GCName"
)

var kept = []string{stringClass, JavaClass, JavaMethod, JavaSymbol, stackTrace, FrameType, ThreadState, JavaThread, GCCause, GCName}

// Read returns the first chunk of a recording with its metadata and constants, and the bytes behind it. The chunk shares
// the memory of data. The texts that are read of it may have most bytes in all. The errors are ErrFormat and ErrLimit.
func Read(data []byte, most int) (c *Chunk, rest []byte, err error) {
	if len(data) < HeaderBytes || !bytes.HasPrefix(data, []byte(ChunkMagic)) {
		return nil, nil, bad("want a chunk")
	}
	word := func(at int) uint64 { return binary.BigEndian.Uint64(data[at:]) }
	size := word(SizeAt)
	switch major, features := binary.BigEndian.Uint16(data[majorAt:]), binary.BigEndian.Uint32(data[featuresAt:]); {
	case major != 2:
		return nil, nil, bad(fmt.Sprintf("version %d, want 2", major))
	case features&1 == 0:
		return nil, nil, bad("numbers that are not compressed")
	case size == 0 || word(poolsAt) == 0:
		return nil, nil, bad("the recording was not ended")
	case size < HeaderBytes || size > uint64(len(data)):
		return nil, nil, bad(fmt.Sprintf("a chunk of %d bytes, and %d are left: it is cut off", size, len(data)))
	}
	c = &Chunk{data: data[:size], most: most, classes: map[uint64]*class{}, named: map[string]*class{}, labels: map[constantKey]string{}}
	start, length, ticks := word(startAt), word(durationAt), word(ticksAt)
	if ticks == 0 || ticks > math.MaxInt64 || start > math.MaxInt64 || length > math.MaxInt64-start {
		return nil, nil, bad("a time of more than 63 bits")
	}
	c.Start, c.End, c.ticks, c.startTicks = int64(start), int64(start+length), int64(ticks), int64(word(startTicksAt))
	c.metadata(word(metadataAt))
	c.pools(word(poolsAt))
	return c, data[size:], c.err
}

// fail keeps the first error.
func (c *Chunk) fail(text string, args ...any) {
	if c.err == nil {
		c.err = bad(fmt.Sprintf("at byte %d of a chunk: ", c.at) + fmt.Sprintf(text, args...))
	}
	c.at = len(c.data)
}

// bound makes more than most values of a kind an error.
func (c *Chunk) bound(what string, n, most int) {
	if n > most && c.err == nil {
		c.err = fmt.Errorf("%w: more than %d %s", ErrLimit, most, what)
		c.at = len(c.data)
	}
}

// seek sets the place of the next read: behind the header.
func (c *Chunk) seek(at uint64) {
	if at < HeaderBytes || at >= uint64(len(c.data)) {
		c.fail("a place %d outside of the chunk", at)
		return
	}
	c.at = int(at)
}

// take returns the next n bytes, or nil.
func (c *Chunk) take(n int) []byte {
	if n > len(c.data)-c.at {
		c.fail("it is cut off")
		return nil
	}
	c.at += n
	return c.data[c.at-n : c.at]
}

func (c *Chunk) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// long returns a number of 7 bits a byte, low ones first. The ninth byte has 8.
func (c *Chunk) long() (n uint64) {
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
func (c *Chunk) count() int {
	n := c.long()
	if n > uint64(len(c.data)-c.at) {
		c.fail("%d values in %d bytes", n, len(c.data)-c.at)
		return 0
	}
	return int(n)
}

// The forms of a text.
const (
	noText = iota
	emptyText
	textConstant
	utf8Text
	utf16Text
	latin1Text
)

// TextAt returns the text at an offset, or "" at 0, and counts its bytes. A text that is a constant does not name another one.
func (c *Chunk) TextAt(at uint64) string {
	if at == 0 {
		return ""
	}
	c.seek(at)
	if form := c.byte(); form != textConstant {
		return c.text(form)
	}
	at, ok := c.constant(stringClass, c.long())
	if !ok {
		return ""
	}
	c.seek(at)
	return c.text(c.byte())
}

// text returns a text of a form.
func (c *Chunk) text(form byte) string {
	n := 0
	if form >= utf8Text {
		n = c.count()
		c.texts += n
		if c.bound("bytes of names", c.texts, c.most); c.err != nil {
			return ""
		}
	}
	switch form {
	case noText, emptyText:
	case utf8Text:
		return string(c.take(n))
	case latin1Text:
		var b strings.Builder
		for _, char := range c.take(n) {
			b.WriteRune(rune(char))
		}
		return b.String()
	case utf16Text:
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
func (c *Chunk) skipText() {
	switch form := c.byte(); form {
	case noText, emptyText:
	case textConstant:
		c.long()
	case utf8Text, latin1Text:
		c.take(c.count())
	case utf16Text:
		for range c.count() {
			c.long()
		}
	default:
		c.fail("a text of form %d", form)
	}
}

// metadata reads the classes.
func (c *Chunk) metadata(at uint64) {
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
	for _, name := range kept {
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
func (c *Chunk) element(names []string, in *class, depth int) {
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
		in = &class{name: attributes["name"], form: forms[attributes["name"]]}
		c.classes[c.id(attributes["id"])], c.named[in.name] = in, in
	case kind == "field" && in != nil:
		in.fields = append(in.fields, member{
			id: c.id(attributes["class"]), slot: slotOf[attributes["name"]],
			isConstant: attributes["constantPool"] == "true", isArray: cmp.Or(attributes["dimension"], "0") != "0",
		})
	}
	for n = c.count(); n > 0 && c.err == nil; n-- {
		c.element(names, in, depth+1)
	}
}

// id returns a class's number, which metadata have as text.
func (c *Chunk) id(text string) uint64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.fail("%.100q is no number of a class", text)
	}
	return uint64(n)
}

// pools reads the lists of constants. Each names the one before it, and ends before the one behind it.
func (c *Chunk) pools(at uint64) {
	for end := uint64(len(c.data)); c.err == nil; {
		c.seek(at)
		for range 4 { // its size, type, start and duration
			c.long()
		}
		before := int64(c.long())
		c.long() // its kind
		for n := c.count(); n > 0 && c.err == nil; n-- {
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

// chunkHeader is a class whose constant is not what its fields say.
const chunkHeader = "jdk.types.ChunkHeader"

// pool reads the constants of a class.
func (c *Chunk) pool() {
	id := c.long()
	class := c.classes[id]
	switch {
	case class == nil:
		c.fail("constants of class %d, which the metadata do not have", id)
		return
	case class.name == chunkHeader:
		c.take(HeaderBytes + 3)
		return
	}
	n := c.count()
	for i := 0; i < n && c.err == nil; i++ {
		id := c.long()
		if class.constants != nil {
			class.constants[id] = c.at
			c.bound("constants of a class", len(class.constants), maxConstants)
		}
		c.value(class, 0)
	}
}

// constant returns the offset of a constant.
func (c *Chunk) constant(class string, id uint64) (at uint64, ok bool) {
	of := c.named[class]
	if of == nil {
		return 0, false
	}
	offset, ok := of.constants[id]
	return uint64(offset), ok
}

// value moves behind a value. It returns a number, or the offset of a text.
func (c *Chunk) value(class *class, depth int) uint64 {
	if class == nil {
		c.fail("a value of a class that the metadata do not have")
		return 0
	}
	switch class.form {
	case ofVarint:
		return c.long()
	case ofByte:
		return uint64(c.byte())
	case ofFour:
		c.take(4)
	case ofEight:
		c.take(8)
	case ofText:
		at := c.at
		c.skipText()
		return uint64(at)
	default:
		c.fields(class, depth, nil)
	}
	return 0
}

// fields reads the fields of a class. It keeps values that have a slot, except lists.
func (c *Chunk) fields(class *class, depth int, to *Contents) {
	if depth > maxNested || len(class.fields) == 0 {
		c.fail("a value of class %.100q, which has no fields or is in itself", class.name)
	}
	for i := range class.fields {
		c.field(&class.fields[i], depth, to)
	}
}

func (c *Chunk) field(f *member, depth int, to *Contents) {
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

// Record returns the fields of a constant, which it reads in each call. ok is false if there is none.
func (c *Chunk) Record(class string, id uint64) (v Contents, ok bool) {
	at, ok := c.constant(class, id)
	if ok {
		c.seek(at)
		c.fields(c.named[class], 0, &v)
	}
	return v, ok
}

// Label returns the text in a field of a constant, or "". The field is the same for all constants of a class.
func (c *Chunk) Label(class string, id uint64, slot Slot) string {
	key := constantKey{class, id}
	text, known := c.labels[key]
	if known {
		return text
	}
	v, ok := c.Record(class, id)
	switch {
	case !ok:
		return ""
	case class == JavaClass:
		text = c.Label(JavaSymbol, v[slot], SlotSymbolText)
	default:
		text = c.TextAt(v[slot])
	}
	c.labels[key] = text
	return text
}

// Nanos returns a duration in ticks as nanoseconds, at most math.MaxInt64.
func (c *Chunk) Nanos(ticks uint64) uint64 {
	if c.ticks == int64(time.Second) {
		return ticks
	}
	return uint64(min(math.Round(float64(ticks)*(float64(time.Second)/float64(c.ticks))), math.MaxInt64))
}

package iceberg

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/google/uuid"
	"github.com/zeebo/xxh3"
)

// texts gives each distinct text a code, from 0 on in the order of first use. It lives as long as a file,
// because types, labels and function names repeat from group to group.
type texts struct {
	codes map[string]uint32
	all   []string
}

func newTexts() *texts { return &texts{codes: map[string]uint32{}} }

// code returns a text's code. The text's memory may be reused afterwards.
func (t *texts) code(s string) uint32 {
	if c, ok := t.codes[s]; ok {
		return c
	}
	s = strings.ToValidUTF8(strings.Clone(s), "\uFFFD")
	if c, ok := t.codes[s]; ok {
		return c
	}
	c := uint32(len(t.all))
	t.codes[s] = c
	t.all = append(t.all, s)
	return c
}

// tokenBytes is the length of the text that stands for a location while records are read: 28 bits in four
// bytes of ASCII, which are valid text.
const tokenBytes = 4

// mostLocations is the number of locations that tokens can distinguish.
const mostLocations = 1 << 28

// location is a location's id and its functions' name codes, leaf first.
type location struct {
	id     uuid.UUID
	names  []uint32
	record []byte // the store's, if it is kept
}

// locations numbers a scan's locations. A scan gives either ids or names; the tokens that it carries
// instead give both.
type locations struct {
	texts *texts
	names func(dst []string, id uuid.UUID, record []byte) []string
	codes map[uuid.UUID]uint32
	all   []location
	token []byte
	keep  bool // keep records
}

func newLocations(t *texts, names func([]string, uuid.UUID, []byte) []string) *locations {
	return &locations{texts: t, names: names, codes: map[uuid.UUID]uint32{}}
}

// element is a columnstore.ScanOptions.Elements: it appends a location's token.
func (l *locations) element(dst []string, id uuid.UUID, record []byte) []string {
	code, ok := l.codes[id]
	if !ok {
		code = uint32(len(l.all))
		l.codes[id] = code
		at := location{id: id}
		for _, name := range l.names(nil, id, record) {
			at.names = append(at.names, l.texts.code(name))
		}
		if l.keep {
			at.record = bytes.Clone(record)
		}
		l.all = append(l.all, at)
	}
	l.token = l.token[:0]
	for shift := 0; shift < 28; shift += 7 {
		l.token = append(l.token, byte(code>>shift)&0x7f)
	}
	return append(dst, string(l.token))
}

// decode returns a token's location.
func (l *locations) decode(token []byte) *location {
	code := uint32(0)
	for i, b := range token {
		code |= uint32(b&0x7f) << (7 * i)
	}
	return &l.all[code]
}

// stacks gives each distinct stack in a group a code.
type stacks struct {
	codes map[string]uint32 // by tokens
	ids   []int64
	names []uint32 // text codes of all stacks
	ends  []int    // ends in names
	ident []byte
}

// code returns a stack's code, given its locations' tokens.
func (s *stacks) code(tokens []byte, from *locations) uint32 {
	if c, ok := s.codes[string(tokens)]; ok {
		return c
	}
	s.ident = s.ident[:0]
	for at := 0; at < len(tokens); at += tokenBytes {
		l := from.decode(tokens[at : at+tokenBytes])
		s.ident = append(s.ident, l.id[:]...)
		s.names = append(s.names, l.names...)
	}
	c := uint32(len(s.ids))
	s.codes[string(tokens)] = c
	s.ids = append(s.ids, int64(xxh3.Hash(s.ident)))
	s.ends = append(s.ends, len(s.names))
	return c
}

// frames returns a stack's name codes, leaf first.
func (s *stacks) frames(code uint32) []uint32 {
	from := 0
	if code > 0 {
		from = s.ends[code-1]
	}
	return s.names[from:s.ends[code]]
}

func (s *stacks) reset() {
	if s.codes == nil {
		s.codes = map[string]uint32{}
	}
	clear(s.codes)
	s.ids, s.names, s.ends = s.ids[:0], s.names[:0], s.ends[:0]
}

// pair is a label: codes for its name and its value.
type pair struct{ name, value uint32 }

// number is a numeric label: the code for its name with the unit, and its value.
type number struct {
	name  uint32
	value int64
}

// labelSet is a set of labels that rows share: a series' or a sample's. A series' types lead its pairs.
type labelSet struct {
	pairs   []pair
	numbers []number
}

// labelSets gives each distinct set of labels in a group a code.
type labelSets struct {
	codes map[string]uint32
	all   []labelSet
	key   []byte
}

// code returns the code for the columns' labels at their current row.
func (s *labelSets) code(columns []textColumn, numbers []numberColumn) uint32 {
	s.key = s.key[:0]
	for i := range columns {
		s.key = binary.LittleEndian.AppendUint32(s.key, columns[i].now())
	}
	for i := range numbers {
		v, ok := numbers[i].now()
		s.key = append(binary.LittleEndian.AppendUint64(s.key, uint64(v)), bytes.Repeat([]byte{1}, bit(ok))...)
		if !ok {
			s.key = append(s.key, 0)
		}
	}
	if c, ok := s.codes[string(s.key)]; ok {
		return c
	}
	var set labelSet
	for i := range columns {
		if v := columns[i].now(); v != 0 {
			set.pairs = append(set.pairs, pair{columns[i].label, v - 1})
		}
	}
	for i := range numbers {
		if v, ok := numbers[i].now(); ok {
			set.numbers = append(set.numbers, number{numbers[i].label, v})
		}
	}
	c := uint32(len(s.all))
	s.codes[string(s.key)] = c
	s.all = append(s.all, set)
	return c
}

func (s *labelSets) reset() {
	s.codes = map[string]uint32{}
	s.all = s.all[:0]
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

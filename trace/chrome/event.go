package chrome

// event is an event of a list, with the fields that the reader needs. Its slices belong to it.
type event struct {
	phase           byte // 0: there is none
	isTimed, isLong bool // it has a time; its arguments are too long
	ts, dur         stamp
	hasDur          bool
	name            []byte
	category        []byte
	scope           []byte
	pid, tid        []byte
	id              []byte
	isGlobal        bool // the id is one of all processes
	args            []byte
}

func (e *event) reset() {
	*e = event{
		name: e.name[:0], category: e.category[:0], scope: e.scope[:0], pid: e.pid[:0], tid: e.tid[:0], id: e.id[:0], args: e.args[:0],
	}
}

// read reads an event, of which the next byte is the brace. It reports whether the event is whole.
func (e *event) read(s *scanner) bool {
	e.reset()
	s.at++
	for s.more('}') {
		if e.field(s); s.err != nil {
			return false
		}
	}
	return s.err == nil
}

func (e *event) field(s *scanner) {
	key := s.key()
	switch string(key) {
	case "ph":
		if b := s.text(); len(b) > 0 {
			e.phase = b[0]
		}
	case "ts":
		e.ts, e.isTimed = parseStamp(s.text())
	case "dur":
		e.dur, e.hasDur = parseStamp(s.text())
	case "name":
		e.name = append(e.name[:0], s.text()...)
	case "cat":
		e.category = append(e.category[:0], s.text()...)
	case "scope":
		e.scope = append(e.scope[:0], s.text()...)
	case "pid":
		e.pid = append(e.pid[:0], s.text()...)
	case "tid":
		e.tid = append(e.tid[:0], s.text()...)
	case "id":
		e.id = append(e.id[:0], s.text()...)
	case "id2":
		e.readID2(s)
	case "args":
		e.readArgs(s)
	default:
		s.skip()
	}
}

// readID2 reads an id that says whether it is one of the process alone.
func (e *event) readID2(s *scanner) {
	s.each(func(key []byte) {
		e.isGlobal = string(key) == "global"
		e.id = append(e.id[:0], s.text()...)
	})
}

// readArgs keeps the arguments if the phase needs them, or is not known yet.
func (e *event) readArgs(s *scanner) {
	if e.phase != 0 && e.phase != 'C' && e.phase != 'M' {
		s.skip()
		return
	}
	args := s.value()
	e.isLong = args == nil
	e.args = append(e.args[:0], args...)
}

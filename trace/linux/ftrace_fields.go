package linux

import "bytes"

// key is a field in the text of an event, by what is before its value.
type key struct {
	before string
	field  field
}

// keysOf are the fields of the kinds as the kernel prints them, in order. A field may be missing.
var keysOf = [kindCount][]key{
	kindSwitch: {
		{"prev_comm=", fPrevComm},
		{" prev_pid=", fPrevTID},
		{" prev_prio=", fPrevPrio},
		{" prev_state=", fPrevState},
		{" ==> next_comm=", fNextComm},
		{" next_pid=", fNextTID},
		{" next_prio=", fNextPrio},
	},
	kindWake:         {{"comm=", fComm}, {" pid=", fTID}, {" prio=", fPrio}, {" success=", fNone}, {" target_cpu=", fTarget}},
	kindMigrate:      {{"comm=", fComm}, {" pid=", fTID}, {" prio=", fPrio}, {" orig_cpu=", fNone}, {" dest_cpu=", fTarget}},
	kindFork:         {{"comm=", fComm}, {" pid=", fTID}, {" child_comm=", fChildComm}, {" child_pid=", fChildTID}},
	kindFree:         {{"comm=", fComm}, {" pid=", fTID}, {" prio=", fPrio}},
	kindIRQEntry:     {{"irq=", fIRQ}, {" name=", fName}},
	kindIRQExit:      {{"irq=", fIRQ}, {" ret=", fNone}},
	kindSoftIRQRaise: {{"vec=", fVec}, {" [", fNone}},
	kindSoftIRQEntry: {{"vec=", fVec}, {" [", fNone}},
	kindSoftIRQExit:  {{"vec=", fVec}, {" [", fNone}},
	kindFrequency:    {{"state=", fState}, {" cpu_id=", fCPU}},
}

// keyed reads the fields of an event of a kind. What is not there stays nil.
func (f *fields) keyed(k kind, b []byte) {
	keys := keysOf[k]
	if len(keys) == 0 || !bytes.HasPrefix(b, []byte(keys[0].before)) {
		f.short(k, b)
		return
	}
	b = b[len(keys[0].before):]
	for i := 0; i < len(keys); {
		next, at := i+1, -1
		for next < len(keys) {
			if at = bytes.Index(b, []byte(keys[next].before)); at >= 0 {
				break
			}
			next++
		}
		if at < 0 {
			f.put(keys[i].field, b)
			return
		}
		f.put(keys[i].field, b[:at])
		b, i = b[at+len(keys[next].before):], next
	}
}

// put sets a field. Values other than names end at a space, because versions of the kernel add fields behind them.
// Numbers may begin with zeros, and are decimal.
func (f *fields) put(name field, value []byte) {
	switch name {
	case fNone:
		return
	case fPrevComm, fNextComm, fComm, fChildComm, fName:
	default:
		value, _ = token(value)
		for len(value) > 1 && value[0] == '0' {
			value = value[1:]
		}
	}
	f[name] = value
}

// short reads the fields as perf and trace-cmd shorten them: of a switch bash:812 [120] S ==> cat:913 [120], and of a
// wake-up cat:913 [120] success=1 CPU:001.
func (f *fields) short(k kind, b []byte) {
	switch k {
	case kindSwitch:
		prev, next, _ := bytes.Cut(b, []byte(" ==> "))
		f.put(fPrevState, f.shortTask(prev, fPrevComm, fPrevTID, fPrevPrio))
		f.shortTask(next, fNextComm, fNextTID, fNextPrio)
	case kindWake:
		rest := f.shortTask(b, fComm, fTID, fPrio)
		if at := bytes.LastIndex(rest, []byte("CPU:")); at >= 0 {
			f.put(fTarget, rest[at+len("CPU:"):])
		}
	}
}

// shortTask reads bash:812 [120] and returns what is behind it. A name may have spaces, colons and brackets.
func (f *fields) shortTask(b []byte, comm, tid, prio field) (rest []byte) {
	for open := 0; ; open++ {
		next := bytes.Index(b[open:], []byte(" ["))
		if next < 0 {
			return nil
		}
		open += next
		colon := open - 1
		for colon >= 0 && b[colon]-'0' <= 9 {
			colon--
		}
		if colon < 0 || b[colon] != ':' || colon == open-1 {
			continue
		}
		end := bytes.IndexByte(b[open:], ']')
		if end < 0 {
			return nil
		}
		f.put(comm, b[:colon])
		f.put(tid, b[colon+1:open])
		f.put(prio, b[open+2:open+end])
		return b[open+end+1:]
	}
}

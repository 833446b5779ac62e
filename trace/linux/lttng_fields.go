package linux

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// fields reads the fields of an event, behind the first brace. The first braces have the CPU, and the last ones the
// fields.
func (p *lttng) fields(b []byte, e *event) error {
	var f fields
	b, end, err := braces(b, func(name, value []byte) {
		if string(name) == "cpu_id" {
			f[fCPU] = value
		}
	})
	if err == nil {
		err = f.cpu(fCPU, &e.cpu)
	}
	for err == nil && !end {
		f = fields{}
		b, end, err = braces(b, func(name, value []byte) { f[lttngFields[string(name)]] = unquote(value) })
	}
	if err != nil {
		return err
	}
	return f.event(e, lttngLeft)
}

// lttngFields are the fields by their names in the braces of an event.
var lttngFields = map[string]field{
	"prev_comm": fPrevComm, "prev_tid": fPrevTID, "prev_prio": fPrevPrio, "prev_state": fPrevState,
	"next_comm": fNextComm, "next_tid": fNextTID, "next_prio": fNextPrio, "comm": fComm, "tid": fTID, "parent_tid": fTID,
	"prio": fPrio, "target_cpu": fTarget, "dest_cpu": fTarget, "child_comm": fChildComm, "child_tid": fChildTID,
	"child_pid": fPID, "pid": fPID, "ppid": fPPID, "name": fName, "status": fStatus, "irq": fIRQ, "vec": fVec,
	"state": fState, "cpu_id": fCPU,
}

// lttngLeft reads the state of a thread that a switch leaves: bits of the kernel's task_struct, of which 1 and 2 are
// waits that signals end or not, 4 and 8 are stops, and 64 is the end. Higher ones say how it is preempted.
//
// From 4.14 on the kernel has 16 and 32 for the end, 64 for a thread that is parked, and 128 for the end of one that is
// not awaited. A parked thread is gone here until it is woken.
func lttngLeft(text []byte) (status, error) {
	n, ok := integer(plainEnum(text))
	switch {
	case !ok:
		return unknown, fmt.Errorf("%w: prev_state is not a number: %.40q", ErrFormat, text)
	case n&(1|2|4|8) != 0:
		return blocked, nil
	case n&(16|32|64|128) != 0:
		return gone, nil
	}
	return waitsForCPU, nil
}

// plainEnum returns the number of an enumeration's value, as in ( "TASK_RUNNING" : container = 0 ), and other text as
// it is.
func plainEnum(text []byte) []byte {
	if len(text) == 0 || text[0] != '(' {
		return text
	}
	_, number, _ := bytes.Cut(text, []byte("container = "))
	return bytes.TrimRight(number, " )")
}

// braces calls take for each field up to the closing brace. It returns what is behind the next opening brace, or that
// there is none.
func braces(b []byte, take func(name, value []byte)) (rest []byte, end bool, err error) {
	for {
		for len(b) > 0 && (b[0] == ' ' || b[0] == ',') {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == '}' {
			break
		}
		name, after, ok := bytes.Cut(b, []byte(" = "))
		if !ok {
			return nil, false, fmt.Errorf("%w: a field without a value, or braces that do not close", ErrFormat)
		}
		size := valueSize(after)
		if size < 0 {
			return nil, false, fmt.Errorf("%w: the value of %.40q does not end", ErrFormat, name)
		}
		take(name, bytes.TrimRight(after[:size], " "))
		b = after[size:]
	}
	rest, ok := bytes.CutPrefix(b[1:], []byte(", {"))
	if ok {
		return rest, false, nil
	}
	if len(bytes.TrimSpace(b[1:])) > 0 {
		return nil, false, fmt.Errorf("%w: text behind the last brace: %.40q", ErrFormat, b[1:])
	}
	return nil, true, nil
}

// valueSize returns the length of a value: up to a comma or a closing brace that is not within text, braces, brackets
// or parentheses. It returns -1 if there is no such end.
func valueSize(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// unquote returns text without its quotes and escapes, and another value as it is.
func unquote(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return value
	}
	var out []byte
	for text := string(value); len(text) > 0; {
		c, multibyte, rest, err := strconv.UnquoteChar(text, '"')
		switch {
		case err != nil: // no escape of C
			out, rest = append(out, text[0]), text[1:]
		case multibyte:
			out = utf8.AppendRune(out, c)
		default:
			out = append(out, byte(c))
		}
		text = rest
	}
	return out
}

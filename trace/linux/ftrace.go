package linux

import (
	"bytes"
	"fmt"
)

// ftrace reads the lines of ftrace, trace-cmd report, systrace and perf script:
//
//	<idle>-0       [001] d..2.  1234.567890: sched_switch: prev_comm=swapper/1 prev_pid=0 ...
//	  bash-812   (    812) [001] d..2.  1234.567890: sched_waking: comm=cat pid=913 prio=120 target_cpu=001
//	  perf   812 [001]  1234.567890123: sched:sched_switch: perf:812 [120] S ==> swapper/1:0 [120]
//
// A line has the thread that runs, its CPU, perhaps flags, the time in seconds, the event, and its fields.
type ftrace struct{}

// IsFtrace reports whether text begins as ftrace, trace-cmd report or systrace print events, or as perf script prints
// events of states. Samples of perf script are a profile instead.
func IsFtrace(head []byte) bool {
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("# tracer: ")) {
			return true
		}
		p, is := splitFtrace(line)
		if !is {
			if skip, _ := aside(line); !skip {
				return false
			}
			continue
		}
		_, name, _ := eventName(p.rest)
		if _, _, by := splitTask(p.task); by == '-' || ftraceKind(name, &name) != kindOther {
			return true
		}
	}
	return false
}

// aside reports whether a line is none of an event: a comment, an empty line, a frame of a stack, or one of the lines
// that trace-cmd writes before and between events. lost is set if it tells that events are lost.
func aside(line []byte) (skip, lost bool) {
	for _, prefix := range []string{"CPU:", "CPU ", "cpus=", "version = "} {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return true, bytes.Contains(line, []byte("LOST")) || bytes.Contains(line, []byte("DROPPED"))
		}
	}
	word, rest := token(line)
	switch {
	case len(word) == 0, line[0] == '#', line[0] == '\t', string(word) == "=>":
		return true, false
	}
	// ffffffff81234567 schedule+0x1a ([kernel.kallsyms])
	return line[0] == ' ' && len(word) >= 4 && len(bytes.Trim(word, "0123456789abcdef")) == 0 && bytes.IndexByte(rest, '+') >= 0, false
}

// parts are the parts of a line.
type parts struct {
	task, cpu, clock, rest []byte
	at                     int64
}

// splitFtrace splits a line at its CPU. The name of a thread can look like one, so it is the first that a time
// follows.
func splitFtrace(line []byte) (p parts, ok bool) {
	if len(line) > 0 && line[0] == '#' {
		return p, false
	}
	for from := 0; ; {
		open := bytes.IndexByte(line[from:], '[')
		if open < 0 {
			return p, false
		}
		open += from
		from = open + 1
		_, size := digits(line[from:])
		if size == 0 || !bytes.HasPrefix(line[from+size:], []byte("] ")) {
			continue
		}
		p.task, p.cpu = line[:open], line[from:from+size]
		if p.clock, p.rest = token(line[from+size+1:]); len(p.clock) == 0 {
			continue
		}
		if p.clock[len(p.clock)-1] != ':' || p.clock[0] > '9' { // flags
			p.clock, p.rest = token(p.rest)
		}
		if n := len(p.clock) - 1; n > 0 && p.clock[n] == ':' {
			if p.at, ok = seconds(p.clock[:n]); ok {
				return p, true
			}
		}
	}
}

// token returns the first word of b, and what is behind it.
func token(b []byte) (word, rest []byte) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if end := bytes.IndexByte(b, ' '); end >= 0 {
		return b[:end], b[end:]
	}
	return b, nil
}

// parse implements form.
func (ftrace) parse(line []byte, e *event) error {
	p, ok := splitFtrace(line)
	if !ok {
		skip, lost := aside(line)
		switch e.kind = kindNone; {
		case lost:
			e.kind = kindLost
			return nil
		case skip:
			return nil
		}
		return fmt.Errorf("%w: no thread, CPU and time in seconds as in %q or %q", ErrFormat, "bash-812 [001] 1234.567890:", "bash 812 [001] 1234.567890:")
	}
	e.at = p.at
	cpu, _ := digits(p.cpu)
	if cpu >= maxCPUs {
		return fmt.Errorf("%w: the CPU %d is not from 0 to %d", ErrFormat, cpu, maxCPUs-1)
	}
	e.cpu = int(cpu)
	full, name, body := eventName(p.rest)
	if e.kind = ftraceKind(name, &e.name); e.kind == kindOther {
		e.name = full
		if string(full) == "<stack" { // <stack trace>, with its frames in lines of their own
			e.kind = kindNone
		}
		return nil
	}
	if e.kind == kindSyscallEntry || e.kind == kindSyscallExit {
		ftraceSyscall(e, body)
	}
	if err := ranTask(p.task, e); err != nil {
		return err
	}
	var f fields
	for len(body) > 0 && body[0] == ' ' {
		body = body[1:]
	}
	f.keyed(e.kind, body)
	return f.event(e, letterLeft)
}

// eventName returns the name of an event, with and without the system that it is of, and what is behind it. perf may put
// the number of a sample's period before it.
func eventName(b []byte) (full, name, rest []byte) {
	full, rest = token(b)
	if _, size := digits(full); size > 0 && size == len(full) {
		full, rest = token(rest)
	}
	if n := len(full) - 1; n >= 0 && full[n] == ':' {
		full = full[:n]
	}
	return full, full[bytes.LastIndexByte(full, ':')+1:], rest
}

// splitTask splits the thread that a line begins with: NAME-TID, perhaps with the process in parentheses, or NAME TID,
// or NAME PROCESS/TID. by is what is before the TID, and 0 if the text is none of these.
func splitTask(b []byte) (comm, tid []byte, by byte) {
	b = trimSpaces(b)
	if len(b) > 0 && b[len(b)-1] == ')' {
		b = trimSpaces(b[:max(bytes.LastIndexByte(b, '('), 0)])
	}
	at := len(b)
	for at > 0 && b[at-1]-'0' <= 9 {
		at--
	}
	if at == 0 || at == len(b) {
		return nil, nil, 0
	}
	comm, tid, by = b[:at-1], b[at:], b[at-1]
	switch by {
	case '/':
		for len(comm) > 0 && comm[len(comm)-1]-'0' <= 9 {
			comm = comm[:len(comm)-1]
		}
	case '-':
		if len(comm) == 0 || comm[len(comm)-1] == ' ' { // perf has -1 for a thread that is gone
			return nil, nil, 0
		}
	case ' ':
	default:
		return nil, nil, 0
	}
	return trimSpaces(comm), tid, by
}

// trimSpaces returns b without the spaces around it.
func trimSpaces(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// ranTask reads the thread that ran at an event. A line without one is of none.
func ranTask(b []byte, e *event) error {
	e.ran = task{}
	comm, text, by := splitTask(b)
	if by == 0 {
		return nil
	}
	tid, size := digits(text)
	if size == 0 || tid > maxTID {
		return fmt.Errorf("%w: the thread %.40s is not from 0 to %d", ErrFormat, text, maxTID)
	}
	if len(comm) > maxName {
		return fmt.Errorf("%w: the name of the thread %d has %d bytes, more than %d", ErrFormat, tid, len(comm), maxName)
	}
	if tid == 0 || string(comm) == "<...>" {
		comm = comm[:0] // it has no name of its own
	}
	e.ran = task{tid: tid, comm: comm}
	return nil
}

// ftraceKind returns the kind of an event by its name. It sets the name of a system call, or of an event of no state.
func ftraceKind(event []byte, name *[]byte) kind {
	if !bytes.HasPrefix(event, []byte("sys_")) {
		return lttngKind(event, name)
	}
	k := kindSyscallEntry
	call, is := bytes.CutPrefix(event, []byte("sys_exit"))
	if is && (len(call) == 0 || call[0] == '_') {
		k = kindSyscallExit
	} else if call, is = bytes.CutPrefix(event, []byte("sys_enter")); !is || len(call) > 0 && call[0] != '_' {
		call = event[len("sys"):]
	}
	*name, _, _ = bytes.Cut(bytes.TrimPrefix(call, []byte("_")), []byte("("))
	return k
}

// ftraceSyscall reads what is behind the name of a system call: its number, as in NR 257 (ffffff9c, 7f), or that it
// returns, as in -> 0x3.
func ftraceSyscall(e *event, body []byte) {
	word, rest := token(body)
	switch string(word) {
	case "NR":
		e.name, _ = token(rest)
	case "->":
		e.kind = kindSyscallExit
	}
}

// letterLeft reads the state of a thread that a switch leaves: letters, or R+ for one that is preempted.
func letterLeft(text []byte) (status, error) {
	if len(text) > 0 {
		switch text[0] {
		case 'R':
			return waitsForCPU, nil
		case 'S', 'D', 'T', 't', 'I', 'P', 'K', 'W', 'N':
			return blocked, nil
		case 'X', 'Z', 'x':
			return gone, nil
		}
	}
	return unknown, fmt.Errorf("%w: the state %.40q is none of the letters R, S, D, T, t, I, P, K, W, N, X, Z and x", ErrFormat, text)
}

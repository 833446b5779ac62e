package linux

import (
	"fmt"
)

// field is a field of an event, whatever a form calls it.
type field uint8

const (
	fNone field = iota
	fPrevComm
	fPrevTID
	fPrevPrio
	fPrevState
	fNextComm
	fNextTID
	fNextPrio
	fComm
	fTID
	fPrio
	fTarget
	fChildComm
	fChildTID
	fPID
	fPPID
	fName
	fStatus
	fIRQ
	fVec
	fState
	fCPU
	fieldCount
)

// fieldNames are the names of fields in messages.
var fieldNames = [fieldCount]string{
	"", "prev_comm", "prev_pid or prev_tid", "prev_prio", "prev_state", "next_comm", "next_pid or next_tid", "next_prio",
	"comm", "pid or tid", "prio", "target_cpu or dest_cpu", "child_comm", "child_pid or child_tid", "pid", "ppid", "name",
	"status", "irq", "vec", "state", "cpu_id",
}

// fields are the values of an event's fields as text, nil for fields that it does not have.
type fields [fieldCount][]byte

// number reads a field as a whole number from lo to hi.
func (f *fields) number(name field, lo, hi int64) (int64, error) {
	text := f[name]
	if text == nil {
		return 0, fmt.Errorf("%w: no field %s", ErrFormat, fieldNames[name])
	}
	n, ok := integer(plainEnum(text))
	if !ok {
		return 0, fmt.Errorf("%w: %s is not a number: %.40q", ErrFormat, fieldNames[name], text)
	}
	if n < lo || n > hi {
		return 0, fmt.Errorf("%w: %s %d is not from %d to %d", ErrFormat, fieldNames[name], n, lo, hi)
	}
	return n, nil
}

// text reads a field as a name.
func (f *fields) text(name field) ([]byte, error) {
	switch text := f[name]; {
	case text == nil:
		return nil, fmt.Errorf("%w: no field %s", ErrFormat, fieldNames[name])
	case len(text) > maxName:
		return nil, fmt.Errorf("%w: %s has %d bytes, more than %d", ErrFormat, fieldNames[name], len(text), maxName)
	default:
		return text, nil
	}
}

// task reads a thread's number, name and priority. The names of fields that an event of the kind does not have are
// fNone.
func (f *fields) task(tid, comm, prio field) (t task, err error) {
	if t.tid, err = f.number(tid, -1, maxTID); err != nil {
		return t, err
	}
	if comm != fNone {
		if t.comm, err = f.text(comm); err != nil {
			return t, err
		}
	}
	if prio != fNone {
		t.prio, err = f.number(prio, -1<<31, 1<<31)
	}
	return t, err
}

// event fills an event of a known kind. left reads the state of the thread that a switch leaves.
func (f *fields) event(e *event, left func(text []byte) (status, error)) (err error) {
	switch e.kind {
	case kindSwitch:
		if e.task, err = f.task(fPrevTID, fPrevComm, fPrevPrio); err == nil {
			e.next, err = f.task(fNextTID, fNextComm, fNextPrio)
		}
		if err == nil && len(f[fPrevState]) == 0 {
			return fmt.Errorf("%w: no field prev_state", ErrFormat)
		}
		if err == nil {
			e.left, err = left(f[fPrevState])
		}
	case kindWake:
		if e.task, err = f.task(fTID, fNone, fPrio); err == nil {
			err = f.cpu(fTarget, &e.target)
		}
	case kindMigrate:
		if e.task, err = f.task(fTID, fNone, fNone); err == nil {
			err = f.cpu(fTarget, &e.target)
		}
	case kindFork:
		return f.fork(e)
	case kindFree:
		e.task, err = f.task(fTID, fNone, fNone)
	case kindProcess:
		return f.process(e)
	case kindIRQEntry:
		if e.name, err = f.text(fName); err == nil {
			e.number, err = f.number(fIRQ, -1<<31, 1<<31)
		}
	case kindIRQExit:
		e.number, err = f.number(fIRQ, -1<<31, 1<<31)
	case kindSoftIRQRaise, kindSoftIRQEntry, kindSoftIRQExit:
		e.number, err = f.number(fVec, 0, maxSoftIRQs-1)
	case kindSyscallEntry:
		if len(e.name) == 0 || len(e.name) > maxName {
			return fmt.Errorf("%w: the system call's name has %d bytes, not from 1 to %d", ErrFormat, len(e.name), maxName)
		}
	case kindFrequency:
		if e.number, err = f.number(fState, 0, 1<<32); err == nil {
			e.number *= 1000 // kHz
			e.target = e.cpu
			if f[fCPU] != nil {
				err = f.cpu(fCPU, &e.target)
			}
		}
	}
	return err
}

func (f *fields) cpu(name field, cpu *int) error {
	n, err := f.number(name, 0, maxCPUs-1)
	*cpu = int(n)
	return err
}

func (f *fields) fork(e *event) (err error) {
	if e.task, err = f.task(fTID, fNone, fNone); err != nil {
		return err
	}
	if e.next, err = f.task(fChildTID, fChildComm, fNone); err != nil {
		return err
	}
	e.pid, e.ppid = 0, e.task.tid
	if f[fPID] != nil {
		e.pid, err = f.number(fPID, 0, maxTID)
	}
	return err
}

// process fills the event of a thread that was there when the recording began, with a status of LTTng's.
func (f *fields) process(e *event) (err error) {
	if e.task, err = f.task(fTID, fName, fNone); err != nil {
		return err
	}
	if e.pid, err = f.number(fPID, 0, maxTID); err != nil {
		return err
	}
	if e.ppid, err = f.number(fPPID, 0, maxTID); err != nil {
		return err
	}
	n, err := f.number(fStatus, -1<<31, 1<<31)
	const waitCPU, wait = 2, 5
	switch e.left = unknown; n {
	case waitCPU:
		e.left = waitsForCPU
	case wait:
		e.left = waitsUnknown
	}
	return err
}

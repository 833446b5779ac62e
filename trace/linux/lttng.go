package linux

import (
	"bytes"
	"fmt"
	"time"
)

// lttng reads the lines of babeltrace2 for the kernel's events of LTTng:
//
//	[17:46:22.794567672] (+0.000001868) host sched_wakeup: { cpu_id = 2 }, { comm = "cat", tid = 4297, prio = 20, target_cpu = 5 }
//
// The first braces are the packet's, the last ones the event's; between them may be the channel's. The times may be
// seconds (--clock-seconds) or dates (--clock-date), which are taken as UTC.
type lttng struct {
	day  int64  // added to times without a date, in ns
	last int64  // the time of the event before
	host []byte // the first one
}

// IsLTTng reports whether text begins as babeltrace2 prints the events of the kernel.
func IsLTTng(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	clock, name, fields, err := splitLTTng(line)
	if err != nil || len(name) == 0 || !bytes.HasPrefix(fields, []byte("{ cpu_id = ")) {
		return false
	}
	_, _, err = clockTime(clock)
	return err == nil
}

// splitLTTng returns a line's time, the name of its event with the host in front, and the braces.
func splitLTTng(line []byte) (clock, name, braces []byte, err error) {
	if len(line) == 0 || line[0] != '[' {
		return nil, nil, nil, fmt.Errorf("%w: not an event of babeltrace2, which begins with its time as in [17:46:22.794565804]", ErrFormat)
	}
	clock, rest, ok := bytes.Cut(line[1:], []byte("]"))
	if !ok {
		return nil, nil, nil, fmt.Errorf("%w: no end of the time", ErrFormat)
	}
	at := bytes.Index(rest, []byte(": {"))
	if at < 0 {
		return nil, nil, nil, fmt.Errorf("%w: no event with fields in braces", ErrFormat)
	}
	name = bytes.TrimLeft(rest[:at], " ")
	if len(name) > 0 && name[0] == '(' {
		_, name, _ = bytes.Cut(name, []byte(") "))
	}
	return clock, name, rest[at+2:], nil
}

// parse implements form.
func (p *lttng) parse(line []byte, e *event) error {
	if len(bytes.TrimSpace(line)) == 0 {
		e.kind = kindNone
		return nil
	}
	clock, name, braces, err := splitLTTng(line)
	if err != nil {
		return err
	}
	if err := p.time(clock, e); err != nil {
		return err
	}
	var host []byte
	if i := bytes.LastIndexByte(name, ' '); i >= 0 {
		host, name = name[:i], name[i+1:]
	}
	if p.host == nil {
		p.host = append([]byte{}, host...)
	}
	if e.kind = lttngKind(name, &e.name); e.kind == kindOther {
		return nil
	}
	if !bytes.Equal(host, p.host) {
		e.kind = kindHost
		return nil
	}
	return p.fields(braces[1:], e)
}

// time sets the time of an event. Times without a date go on after midnight.
func (p *lttng) time(clock []byte, e *event) error {
	at, dated, err := clockTime(clock)
	if err != nil {
		return err
	}
	if !dated {
		const day = int64(24 * time.Hour)
		at += p.day
		switch {
		case at < p.last-day/2: // behind midnight
			at, p.day = at+day, p.day+day
		case p.day > 0 && at-day >= p.last-int64(maxBack): // before it, by the clock of another CPU
			at -= day
		}
		p.last = at
	}
	e.at = at
	return nil
}

// clockTime reads 17:46:22.794565804, 2016-03-04 17:46:22.794565804 or 1457113582.794565804, as ns, and reports whether
// it has a date.
func clockTime(b []byte) (at int64, dated bool, err error) {
	ok := false
	switch {
	case bytes.IndexByte(b, ':') < 0:
		at, ok = seconds(b)
		dated = true
	case len(b) > 11 && b[10] == ' ':
		var date time.Time
		date, err = time.Parse(time.DateOnly, string(b[:10]))
		at, ok = timeOfDay(b[11:])
		at, dated, ok = at+date.UnixNano(), true, ok && err == nil && date.Year() > 1700 && date.Year() < 2200
	default:
		at, ok = timeOfDay(b)
	}
	if !ok {
		return 0, dated, fmt.Errorf("%w: the time %.40q is none of 17:46:22.794565804, 2016-03-04 17:46:22.794565804 and 1457113582.794565804", ErrFormat, b)
	}
	return at, dated, nil
}

// timeOfDay reads 17:46:22.794565804 as ns.
func timeOfDay(b []byte) (int64, bool) {
	if len(b) < 10 || b[2] != ':' || b[5] != ':' || b[8] != '.' {
		return 0, false
	}
	hour, a := digits(b[:2])
	minute, m := digits(b[3:5])
	second, s := digits(b[6:8])
	ns, ok := nanoseconds(b[9:])
	return ((hour*60+minute)*60+second)*1e9 + ns, ok && a+m+s == 6 && hour < 24 && minute < 60 && second <= 60
}

// kinds are the kinds of events by their names. LTTng has some names of its own.
var kinds = map[string]kind{
	"sched_switch": kindSwitch, "sched_waking": kindWake, "sched_wakeup": kindWake, "sched_wakeup_new": kindWake,
	"sched_migrate_task": kindMigrate, "sched_process_fork": kindFork, "sched_process_free": kindFree,
	"lttng_statedump_process_state": kindProcess, "irq_handler_entry": kindIRQEntry, "irq_handler_exit": kindIRQExit,
	"irq_softirq_raise": kindSoftIRQRaise, "softirq_raise": kindSoftIRQRaise,
	"irq_softirq_entry": kindSoftIRQEntry, "softirq_entry": kindSoftIRQEntry,
	"irq_softirq_exit": kindSoftIRQExit, "softirq_exit": kindSoftIRQExit, "exit_syscall": kindSyscallExit,
	"power_cpu_frequency": kindFrequency, "cpu_frequency": kindFrequency,
}

// lttngKind returns the kind of an event by its name. It sets the name of a system call, or of an event of no state.
func lttngKind(event []byte, name *[]byte) kind {
	if k, is := kinds[string(event)]; is {
		return k
	}
	*name = event
	call := bytes.TrimPrefix(event, []byte("compat_"))
	for _, prefix := range []string{"syscall_entry_", "sys_"} {
		if rest, is := bytes.CutPrefix(call, []byte(prefix)); is {
			*name = rest
			return kindSyscallEntry
		}
	}
	if bytes.HasPrefix(call, []byte("syscall_exit_")) {
		return kindSyscallExit
	}
	return kindOther
}

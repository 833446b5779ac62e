package linux

import (
	"context"
	"strconv"
	"strings"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// provider turns events into the states of threads, CPUs and interrupts, and writes them. It keeps the latest state of
// each, so that only changes are written. It belongs to one goroutine.
type provider struct {
	ctx context.Context
	to  *trace.Changes
	w   *history.Writer // of the event's time
	now int64
	err error // the first one

	threadValues, cpuValues, softIRQValues [cpuIRQ + 1]history.Value

	threadsAt, cpusAt, irqsAt, softIRQsAt history.Attribute // noAttribute before the first use

	threads map[int64]*thread // by number
	idle    []*thread         // the idle loops, by CPU
	nobody  *thread           // the current thread of CPUs of which none is known
	cpus    []*cpu
	irqs    map[string]*latest // the handlers on all CPUs
	soft    [maxSoftIRQs]*softIRQ
	names   map[string]history.Value // of texts that were written lately
}

const noAttribute = history.Top

// newProvider returns a provider of states that are named, or are numbers.
func newProvider(ctx context.Context, to *trace.Changes, numbers bool) *provider {
	return &provider{
		ctx: ctx, to: to,
		threadValues:  values(threadStates, numbers),
		cpuValues:     values(cpuStates, numbers),
		softIRQValues: values(softIRQStates, numbers),
		threadsAt:     noAttribute, cpusAt: noAttribute, irqsAt: noAttribute, softIRQsAt: noAttribute,
		threads: map[int64]*thread{}, irqs: map[string]*latest{}, names: map[string]history.Value{},
	}
}

// latest is an attribute with its latest value.
type latest struct {
	at    history.Attribute
	value history.Value
}

func newLatest() latest { return latest{at: noAttribute} }

// take writes the states of an event. It returns the errors of the history.
func (p *provider) take(e *event) error {
	p.now = e.at
	if p.w, p.err = p.to.At(p.ctx, e.at); p.err != nil {
		return p.err
	}
	if e.ran.comm != nil && e.kind != kindSwitch {
		p.ran(e)
	}
	switch e.kind {
	case kindSwitch:
		p.switches(e)
	case kindWake:
		p.wakes(e)
	case kindMigrate:
		t := p.thread(e.task.tid, e.target)
		p.setStatus(t, waitsForCPU)
		p.setQueue(t, e.target)
	case kindFork:
		p.forks(e)
	case kindFree:
		p.frees(e)
	case kindProcess:
		p.finds(e)
	case kindIRQEntry:
		p.irqEntry(e)
	case kindIRQExit:
		p.irqExit(e)
	case kindSoftIRQRaise:
		p.softIRQRaise(e)
	case kindSoftIRQEntry:
		p.softIRQEntry(e)
	case kindSoftIRQExit:
		p.softIRQExit(e)
	case kindSyscallEntry:
		p.syscallEntry(e)
	case kindSyscallExit:
		p.syscallExit(e)
	case kindFrequency:
		c := p.cpu(e.target)
		p.set(&c.frequency, c.state.at, "Frequency", history.Int(e.number))
	}
	return p.err
}

// child returns the attribute of a name below another, and makes it if at is noAttribute.
func (p *provider) child(at *history.Attribute, parent history.Attribute, name string) history.Attribute {
	if *at == noAttribute && p.err == nil {
		if a, err := p.w.Child(parent, name); err != nil {
			p.err = err
		} else {
			*at = a
		}
	}
	return *at
}

// set gives an attribute below another a value, if it has another one.
func (p *provider) set(c *latest, parent history.Attribute, name string, v history.Value) {
	p.child(&c.at, parent, name)
	p.change(c, v)
}

// change gives an attribute a value, if it has another one.
func (p *provider) change(c *latest, v history.Value) {
	if p.err != nil || v == c.value {
		return
	}
	if p.w, p.err = p.to.At(p.ctx, p.now); p.err == nil {
		p.err = p.w.Change(p.now, c.at, v)
	}
	c.value = v
}

// text returns a name as a value. It keeps the names that it made lately.
func (p *provider) text(b []byte) history.Value {
	v, ok := p.names[string(b)]
	if !ok {
		text := strings.ToValidUTF8(string(b), "\ufffd")
		if len(p.names) >= 4096 {
			clear(p.names)
		}
		v = history.String(text)
		p.names[text] = v
	}
	return v
}

// thread is a thread, or a CPU's idle loop.
type thread struct {
	tid                                   int64
	status                                status
	state                                 latest
	exec, ppid, pid, syscall, prio, queue latest
}

// thread returns a thread by its number. The number 0 is that of the idle loops of all CPUs.
func (p *provider) thread(tid int64, cpu int) *thread {
	switch {
	case tid < 0:
		return p.unknownThread()
	case tid == 0:
		grow(&p.idle, cpu)
		if p.idle[cpu] == nil {
			p.idle[cpu] = p.newThread(0, "0_"+strconv.Itoa(cpu))
		}
		return p.idle[cpu]
	}
	t := p.threads[tid]
	if t == nil {
		t = p.newThread(tid, strconv.FormatInt(tid, 10))
		p.threads[tid] = t
	}
	return t
}

// grow makes a list long enough for an index.
func grow[T any](list *[]*T, index int) {
	if n := index + 1 - len(*list); n > 0 {
		*list = append(*list, make([]*T, n)...)
	}
}

func (p *provider) unknownThread() *thread {
	if p.nobody == nil {
		p.nobody = p.newThread(-1, "-1")
	}
	return p.nobody
}

func (p *provider) newThread(tid int64, name string) *thread {
	t := &thread{tid: tid, status: gone}
	for _, c := range []*latest{&t.state, &t.exec, &t.ppid, &t.pid, &t.syscall, &t.prio, &t.queue} {
		*c = newLatest()
	}
	p.child(&t.state.at, p.child(&p.threadsAt, history.Top, "Threads"), name)
	return t
}

func (p *provider) setStatus(t *thread, s status) {
	t.status = s
	if s == gone {
		p.change(&t.state, history.Value{})
		return
	}
	p.change(&t.state, p.threadValues[s])
}

// setRunning has a thread run: in a system call if it is in one.
func (p *provider) setRunning(t *thread) {
	s := inUser
	if p.inSystemCall(t) {
		s = inSystemCall
	}
	p.setStatus(t, s)
}

// inSystemCall reports whether a thread is in a system call. It makes the attribute.
func (p *provider) inSystemCall(t *thread) bool {
	p.child(&t.syscall.at, t.state.at, "System_call")
	return !t.syscall.value.IsNull()
}

// ran has a CPU of which nothing is known run the thread that it ran at an event.
func (p *provider) ran(e *event) {
	if e.cpu < len(p.cpus) && p.cpus[e.cpu] != nil && p.cpus[e.cpu].current != nil {
		return
	}
	c, t := p.cpu(e.cpu), p.thread(e.ran.tid, e.cpu)
	c.current = t
	p.set(&c.thread, c.state.at, "Current_thread", history.Int(e.ran.tid))
	if len(e.ran.comm) > 0 {
		p.set(&t.exec, t.state.at, "Exec_name", p.text(e.ran.comm))
	}
	p.setRunning(t)
	p.setCPU(c, cpuOf(t))
}

func (p *provider) setQueue(t *thread, cpu int) {
	p.set(&t.queue, t.state.at, "Current_cpu_rq", history.Int(int64(cpu)))
}

// switches has a CPU go from a thread to the next.
func (p *provider) switches(e *event) {
	prev, next := p.thread(e.task.tid, e.cpu), p.thread(e.next.tid, e.cpu)
	p.setStatus(prev, e.left)
	if e.left == waitsForCPU {
		p.setQueue(prev, e.cpu)
	} else {
		p.set(&prev.queue, prev.state.at, "Current_cpu_rq", history.Value{})
	}
	p.setRunning(next)
	p.setQueue(next, e.cpu)
	p.set(&prev.exec, prev.state.at, "Exec_name", p.text(e.task.comm))
	p.set(&next.exec, next.state.at, "Exec_name", p.text(e.next.comm))
	p.set(&prev.prio, prev.state.at, "Prio", history.Int(e.task.prio))
	p.set(&next.prio, next.state.at, "Prio", history.Int(e.next.prio))
	c := p.cpu(e.cpu)
	c.current = next
	p.set(&c.thread, c.state.at, "Current_thread", history.Int(e.next.tid))
	if e.next.tid == 0 {
		p.updateCPU(c)
		return
	}
	p.setCPU(c, cpuOf(next))
}

// wakes has a thread wait for a CPU, unless it runs.
func (p *provider) wakes(e *event) {
	t := p.thread(e.task.tid, e.target)
	if t.status != inUser && t.status != inSystemCall {
		p.setStatus(t, waitsForCPU)
	}
	p.setQueue(t, e.target)
	p.set(&t.prio, t.state.at, "Prio", history.Int(e.task.prio))
}

// forks has a thread make another, which is in the same system call.
func (p *provider) forks(e *event) {
	child := p.thread(e.next.tid, e.cpu)
	p.set(&child.ppid, child.state.at, "PPID", history.Int(e.ppid))
	p.setPID(child, e)
	p.set(&child.exec, child.state.at, "Exec_name", p.text(e.next.comm))
	p.setStatus(child, waitsForCPU)
	p.setQueue(child, e.cpu)
	if parent := p.thread(e.task.tid, e.cpu); parent.syscall.at != noAttribute {
		p.set(&child.syscall, child.state.at, "System_call", parent.syscall.value)
	}
}

// setPID gives a thread its process, unless it is the first one of it.
func (p *provider) setPID(t *thread, e *event) {
	if e.pid != 0 && e.pid != t.tid {
		p.set(&t.pid, t.state.at, "PID", history.Int(e.pid))
	}
}

// frees has nothing of a thread left.
func (p *provider) frees(e *event) {
	t := p.thread(e.task.tid, e.cpu)
	p.setStatus(t, gone)
	for _, c := range []*latest{&t.exec, &t.ppid, &t.pid, &t.syscall, &t.prio, &t.queue} {
		p.change(c, history.Value{})
	}
}

// finds has a thread that was there when the recording began.
func (p *provider) finds(e *event) {
	t := p.thread(e.task.tid, e.cpu)
	if t.state.value.IsNull() {
		p.setStatus(t, e.left)
	}
	if t.exec.value.IsNull() {
		p.set(&t.exec, t.state.at, "Exec_name", p.text(e.task.comm))
	}
	p.set(&t.ppid, t.state.at, "PPID", history.Int(e.ppid))
	p.setPID(t, e)
}

// syscallEntry has the current thread of a CPU be in a system call.
func (p *provider) syscallEntry(e *event) {
	c := p.cpu(e.cpu)
	t := p.current(c)
	p.set(&t.syscall, t.state.at, "System_call", p.text(e.name))
	p.setStatus(t, inSystemCall)
	p.setCPU(c, cpuSystemCall)
}

// syscallExit has the current thread of a CPU leave a system call.
func (p *provider) syscallExit(e *event) {
	c := p.cpu(e.cpu)
	t := p.current(c)
	p.set(&t.syscall, t.state.at, "System_call", history.Value{})
	p.setStatus(t, inUser)
	p.setCPU(c, cpuUser)
}

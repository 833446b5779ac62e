package linux

import (
	"strconv"

	"github.com/granarydb/granary/history"
)

// cpu is a CPU with its interrupts.
type cpu struct {
	state, thread, frequency latest
	irqsAt, softIRQsAt       history.Attribute
	current                  *thread // nil if none is known

	irqs    map[string]*latest // the handlers
	running map[int64]*handler

	soft                     [maxSoftIRQs]*softIRQ
	softRunning, softPending int // soft interrupts that run, and that run or are raised
}

// handler is an interrupt handler that runs on a CPU.
type handler struct {
	here, all *latest
}

// softIRQ is a soft interrupt on a CPU or on all CPUs.
type softIRQ struct {
	latest
	state int64
	cpus  [softIRQRunning | softIRQRaised + 1]int // of all CPUs, by state there
}

// cpu returns a CPU.
func (p *provider) cpu(n int) *cpu {
	grow(&p.cpus, n)
	if p.cpus[n] == nil {
		c := &cpu{
			state: newLatest(), thread: newLatest(), frequency: newLatest(), irqsAt: noAttribute, softIRQsAt: noAttribute,
			irqs: map[string]*latest{}, running: map[int64]*handler{},
		}
		p.child(&c.state.at, p.child(&p.cpusAt, history.Top, "CPUs"), strconv.Itoa(n))
		p.cpus[n] = c
	}
	return p.cpus[n]
}

// current returns the current thread of a CPU.
func (p *provider) current(c *cpu) *thread {
	p.child(&c.thread.at, c.state.at, "Current_thread")
	if c.current == nil {
		return p.unknownThread()
	}
	return c.current
}

func (p *provider) setCPU(c *cpu, state int64) { p.change(&c.state, p.cpuValues[state]) }

// cpuOf returns the state of a CPU that runs a thread.
func cpuOf(t *thread) int64 {
	switch {
	case t.tid == 0:
		return cpuIdle
	case t.syscall.value.IsNull():
		return cpuUser
	}
	return cpuSystemCall
}

// updateCPU sets the state of a CPU from what it does: an interrupt, else a soft interrupt, else its thread.
func (p *provider) updateCPU(c *cpu) {
	p.child(&c.irqsAt, c.state.at, "IRQs")
	if len(c.running) > 0 {
		p.setCPU(c, cpuIRQ)
		return
	}
	p.child(&c.softIRQsAt, c.state.at, "Soft_IRQs")
	switch {
	case c.softRunning > 0:
		p.setCPU(c, cpuSoftIRQ)
	case c.current == nil:
		p.change(&c.state, history.Value{})
	default:
		p.setCPU(c, cpuOf(c.current))
	}
}

// irqEntry begins a handler on a CPU.
func (p *provider) irqEntry(e *event) {
	c := p.cpu(e.cpu)
	name, on := strconv.FormatInt(e.number, 10)+"/"+p.text(e.name).Text(), history.Int(int64(e.cpu))
	h := &handler{latestOf(c.irqs, name), latestOf(p.irqs, name)}
	p.set(h.here, p.child(&c.irqsAt, c.state.at, "IRQs"), name, on)
	p.setCPU(c, cpuIRQ)
	p.setStatus(p.current(c), interrupted)
	p.set(h.all, p.child(&p.irqsAt, history.Top, "IRQs"), name, on)
	c.running[e.number] = h
}

func latestOf(all map[string]*latest, name string) *latest {
	c := all[name]
	if c == nil {
		c = &latest{at: noAttribute}
		all[name] = c
	}
	return c
}

// irqExit ends a handler on a CPU. A handler that began before the recording has no name, and so no attribute.
func (p *provider) irqExit(e *event) {
	c := p.cpu(e.cpu)
	h := c.running[e.number]
	if h != nil {
		delete(c.running, e.number)
		p.change(h.here, history.Value{})
	}
	p.setRunning(p.current(c))
	p.updateCPU(c)
	if h != nil {
		p.change(h.all, history.Value{})
	}
}

func (p *provider) softIRQRaise(e *event) {
	c := p.cpu(e.cpu)
	p.setSoftIRQ(c, e.number, p.softIRQ(c, e.number).state|softIRQRaised)
}

func (p *provider) softIRQEntry(e *event) {
	c := p.cpu(e.cpu)
	p.setSoftIRQ(c, e.number, softIRQRunning)
	p.setCPU(c, cpuSoftIRQ)
	p.setStatus(p.current(c), interrupted)
}

// softIRQExit ends a soft interrupt on a CPU. The thread stays interrupted while others are to run.
func (p *provider) softIRQExit(e *event) {
	c := p.cpu(e.cpu)
	p.setSoftIRQ(c, e.number, p.softIRQ(c, e.number).state&^softIRQRunning)
	if t := p.current(c); c.softPending == 0 {
		p.setRunning(t)
	}
	p.updateCPU(c)
}

// softIRQ returns a soft interrupt on a CPU.
func (p *provider) softIRQ(c *cpu, n int64) *softIRQ {
	if c.soft[n] == nil {
		c.soft[n] = &softIRQ{latest: newLatest()}
		p.child(&c.soft[n].at, p.child(&c.softIRQsAt, c.state.at, "Soft_IRQs"), strconv.FormatInt(n, 10))
	}
	return c.soft[n]
}

// setSoftIRQ sets the state of a soft interrupt on a CPU, and of it on all CPUs, which is the highest one.
func (p *provider) setSoftIRQ(c *cpu, n, state int64) {
	s, all := p.softIRQ(c, n), p.soft[n]
	if all == nil {
		all = &softIRQ{latest: newLatest()}
		p.soft[n] = all
	}
	c.countSoft(s.state, -1)
	all.cpus[s.state]--
	s.state = state
	c.countSoft(s.state, 1)
	all.cpus[s.state]++
	p.change(&s.latest, p.softIRQValues[state])
	highest := len(all.cpus) - 1
	for highest > 0 && all.cpus[highest] <= 0 {
		highest--
	}
	p.set(&all.latest, p.child(&p.softIRQsAt, history.Top, "Soft_IRQs"), strconv.FormatInt(n, 10), p.softIRQValues[highest])
}

// countSoft counts a soft interrupt in a state n times.
func (c *cpu) countSoft(state int64, n int) {
	if state&softIRQRunning != 0 {
		c.softRunning += n
	}
	if state != 0 {
		c.softPending += n
	}
}

package golang

// Kind is an event's subject.
type Kind uint8

// The kinds of events.
const (
	Goroutine Kind = iota + 1 // Event.ID is in a state
	Proc                      // Event.ID is in a state
	Collector                 // Running while it marks, None otherwise
	Stopped                   // the world is stopped: Running with a reason, and None when it goes on
	Sample                    // a CPU sample while goroutine Event.ID ran

	// The following come with Reader.ReadDetails alone, and have a Detail.

	Range    // goroutine or proc Event.ID is in Detail.Name, such as GC mark assist: Running, and None after it
	Task     // task Event.ID is Running, and None after its end
	Region   // goroutine Event.ID enters Detail.Name: Running, and None when it leaves its newest region
	Labelled // goroutine Event.ID has the label Detail.Name from then on, such as GC (dedicated)
	Logged   // goroutine Event.ID, or NoGoroutine, writes Detail.Text
	Metric   // Detail.Name has Detail.Value
	Omitted  // Detail.Name is a kind of events that is not read
)

// State is a state of a goroutine or a proc.
type State uint8

// The states. None is the state of a goroutine that has ended, and of an unused proc.
const (
	None State = iota
	Running
	Runnable
	Waiting // a goroutine waits, a proc is idle
	Syscall
)

// NoGoroutine is the ID of a sample without a goroutine: in the scheduler, or in foreign code. As Event.By it is no
// goroutine, but a timer, the network or the scheduler.
const NoGoroutine = -1

// NoProc is Event.On of a goroutine on no proc.
const NoProc = -1

// StackFrame is a call in a stack.
type StackFrame struct {
	PC         uint64
	Func, File string
	Line       int64
}

// Event is a change of a state, or a sample. Events share stacks, so a stack must not be changed.
type Event struct {
	Time  int64 // nanoseconds of the trace's clock, not before that of an earlier event
	Kind  Kind
	State State
	// IsFound reports that the state began before the trace. The first generation has such an event for each goroutine
	// and proc of then, however late; after ReadAhead they come first, at its begin. Each later generation has them again,
	// with states that are known.
	IsFound bool
	// IsWake reports that a goroutine became Runnable because By unblocked it.
	IsWake bool
	ID     int64 // of the goroutine, proc or task
	By     int64 // the goroutine in whose time it happened
	On     int64 // the proc on which it happened
	// Reason says why a goroutine waits, or why the world is stopped. It can be empty.
	Reason string
	// Stack is the stack of a sample or a goroutine, leaf first. It can be empty.
	Stack []StackFrame
	// Detail is nil for kinds that are read without details.
	Detail *Detail
}

// Detail is what an event says besides. Its texts can be empty and of any bytes.
type Detail struct {
	Name   string // of a range, a task, a region, a metric or a label, or the category of a log
	Text   string // of a log
	Value  uint64 // of a metric
	Parent int64  // task in which a task is, or 0
	OnProc bool   // a range is one of a proc
}

// Clock is an instant by two clocks: the trace's, and Unix nanoseconds.
type Clock struct{ Trace, Unix int64 }

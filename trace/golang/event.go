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

// NoGoroutine is the ID of a sample without a goroutine: in the scheduler, or in foreign code.
const NoGoroutine = -1

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
	ID    int64 // of the goroutine or proc
	State State
	// IsFound reports that the state began before the trace. The first generation has such an event for each goroutine
	// and proc of then, however late; after ReadAhead they come first, at its begin.
	IsFound bool
	// Reason says why a goroutine waits, or why the world is stopped. It can be empty.
	Reason string
	// Stack is the stack of a sample or a goroutine, leaf first. It can be empty.
	Stack []StackFrame
}

// Clock is an instant by two clocks: the trace's, and Unix nanoseconds.
type Clock struct{ Trace, Unix int64 }

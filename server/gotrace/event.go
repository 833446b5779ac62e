package gotrace

// Kind is what an event is about.
type Kind uint8

// The kinds of events.
const (
	Goroutine Kind = iota + 1 // Event.ID is in a state
	Proc                      // Event.ID is in a state
	Collector                 // Running while it marks, None otherwise
	Stopped                   // the world is: Running with a reason, and None once it goes on
	Sample                    // of the processor, while goroutine Event.ID ran
)

// State is a state of a goroutine or a proc.
type State uint8

// The states. None is that of a goroutine that has ended, and of a proc that is not used.
const (
	None State = iota
	Running
	Runnable
	Waiting // a goroutine waits, a proc is idle
	Syscall
)

// NoGoroutine is the ID of a sample without a goroutine: of the scheduler, or of foreign code.
const NoGoroutine = -1

// Frame is a call of a stack.
type Frame struct {
	PC         uint64
	Func, File string
	Line       int64
}

// Event is a change of a state, or a sample. The stack is shared by events, and must not be changed.
type Event struct {
	Time  int64 // nanoseconds of the clock of the trace, of which no event has the same or an earlier one
	Kind  Kind
	ID    int64 // of the goroutine or proc
	State State
	// Reason says why a goroutine waits, or the world is stopped. It can be empty.
	Reason string
	// Stack is that of a sample, or of a goroutine, leaf first. It can be empty.
	Stack []Frame
}

// Clock is an instant by two clocks: that of the trace, and Unix nanoseconds.
type Clock struct{ Trace, Unix int64 }

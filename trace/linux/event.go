package linux

// kind is the kind of an event, as far as the provider tells them apart.
type kind uint8

const (
	kindOther        kind = iota // of no state
	kindSwitch                   // a CPU goes from task to next
	kindWake                     // task may run on the CPU target
	kindMigrate                  // task goes to the queue of the CPU target
	kindFork                     // task makes next
	kindFree                     // task is gone
	kindProcess                  // task was there when the recording began
	kindIRQEntry                 // the handler name of interrupt number
	kindIRQExit                  // the end of a handler
	kindSoftIRQRaise             // soft interrupt number is to run
	kindSoftIRQEntry             // it runs
	kindSoftIRQExit              // it ends
	kindSyscallEntry             // the current thread enters the system call name
	kindSyscallExit              // and leaves it
	kindFrequency                // the CPU target has a frequency of number Hz
	kindHost                     // of another host than the first event
	kindLost                     // a line that tells that the tracer lost events, without a time
	kindNone                     // a line without an event
	kindCount
)

// task is a thread in an event.
type task struct {
	tid  int64
	comm []byte
	prio int64
}

// event is an event of the kernel. Which fields have a meaning is said by the kind. Its bytes are of the line, and valid
// up to the next one.
type event struct {
	at         int64 // ns
	cpu        int
	kind       kind
	ran        task // the thread that the CPU ran; its name is nil if the form does not say it
	task, next task
	left       status // what task is after a switch, or when the recording began
	pid, ppid  int64  // process and parent of the task that is made or found; pid is 0 if it is not known
	target     int    // a CPU
	number     int64
	name       []byte // of a system call, a handler, or an event of no state
}

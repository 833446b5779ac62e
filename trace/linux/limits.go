package linux

import "time"

const (
	// maxLine is the length of a line. The events of the kernel have lines of a few hundred bytes; a message of the
	// console has up to a page.
	maxLine = 256 << 10
	// maxName is the length of a name. Threads have names of 15 bytes, interrupt handlers and system calls of less
	// than 100.
	maxName = 4 << 10
	// maxCPUs is the number of CPUs, the most that Linux can be built for.
	maxCPUs = 8192
	// maxTID is the highest number of a thread, the most that Linux gives (PID_MAX_LIMIT).
	maxTID = 1 << 22
	// maxSoftIRQs is the number of soft interrupts. Linux has 10.
	maxSoftIRQs = 64
	// maxKinds is the number of names of events that are counted one by one. A kernel has some thousand; most
	// recordings have less than a hundred.
	maxKinds = 256
	// maxKindName is the length of such a name.
	maxKindName = 100
	// namedKinds is the number of kinds of events, the most frequent ones, that an outcome names.
	namedKinds = 5
	// maxBack is the time that an event may be earlier than the one before. CPUs that are merged by clocks of their
	// own differ by microseconds; more is another recording.
	maxBack = 10 * time.Millisecond
)

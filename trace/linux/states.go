package linux

import "github.com/granarydb/granary/history"

// status is the state of a thread, as a number of Trace Compass, or gone.
type status int8

const (
	gone           status = -1 // null
	unknown        status = 0
	blocked        status = 1
	inUser         status = 2
	inSystemCall   status = 3
	interrupted    status = 4
	waitsForCPU    status = 5
	waitsUnknown   status = 6
	cpuIdle        int64  = 0
	cpuUser        int64  = 2
	cpuSystemCall  int64  = 4
	cpuSoftIRQ     int64  = 8
	cpuIRQ         int64  = 16
	softIRQRaised  int64  = 1
	softIRQRunning int64  = 8
)

// The names of the states, by their numbers in Trace Compass.
var (
	threadStates = map[int64]string{
		int64(unknown):      "unknown",
		int64(blocked):      "waiting (blocked)",
		int64(inUser):       "running",
		int64(inSystemCall): "running (system call)",
		int64(interrupted):  "interrupted",
		int64(waitsForCPU):  "waiting (CPU)",
		int64(waitsUnknown): "waiting",
	}
	cpuStates = map[int64]string{
		cpuIdle:       "idle",
		cpuUser:       "running",
		cpuSystemCall: "running (system call)",
		cpuSoftIRQ:    "soft interrupt",
		cpuIRQ:        "interrupt",
	}
	softIRQStates = map[int64]string{
		softIRQRaised:                  "raised",
		softIRQRunning:                 "running",
		softIRQRaised | softIRQRunning: "running, raised again",
	}
)

// values returns the values of states by number: their names, or with numbers the numbers themselves.
func values(names map[int64]string, numbers bool) (out [cpuIRQ + 1]history.Value) {
	for n, name := range names {
		out[n] = history.String(name)
		if numbers {
			out[n] = history.Int(n)
		}
	}
	return out
}

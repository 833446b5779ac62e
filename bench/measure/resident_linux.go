package measure

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
)

// Resident returns the bytes of memory that the process holds, after the heap has given back its free
// memory. 0 is unknown.
func Resident() int64 {
	debug.FreeOSMemory()
	return ofStatus("VmRSS:")
}

// MostResident returns the most bytes that the process has held since it began. 0 is unknown.
func MostResident() int64 { return ofStatus("VmHWM:") }

// Written returns the bytes that the process has handed to the system for files since it began. 0 is unknown.
func Written() int64 {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	_, line, _ := bytes.Cut(data, []byte("wchar: "))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ofStatus returns a line of the system's status of the process, in bytes.
func ofStatus(name string) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, line, _ := bytes.Cut(data, []byte("\n"+name))
	line, _, _ = bytes.Cut(line, []byte(" kB"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

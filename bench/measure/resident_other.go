//go:build !linux

package measure

// Resident returns 0: the memory of the process is unknown on this system.
func Resident() int64 { return 0 }

// MostResident returns 0 too.
func MostResident() int64 { return 0 }

// Written returns 0 too.
func Written() int64 { return 0 }

//go:build !linux

package measure

// Resident returns 0, because the process's memory is unknown on this system.
func Resident() int64 { return 0 }

// MostResident returns 0 too.
func MostResident() int64 { return 0 }

// Written returns 0 too.
func Written() int64 { return 0 }

// Package faultclock has a clock whose readings tests make wrong: one of them, or all from one on, as those of a system whose clock
// is set. It moves by a microsecond with each reading, and otherwise when a test moves it. Equal calls give equal readings.
//
// A Fault of one reading is wrong in all. With a longer one the wall clock is set: the monotonic part of readings stays right, as that
// of time.Now does, so that only what depends on the date of a reading may change.
package faultclock

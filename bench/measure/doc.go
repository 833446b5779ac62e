// Package measure reads an operation's cost: CPU time, heap and allocations.
//
// CPU time is the process's, user and system, with all goroutines and the garbage collector, because wall
// time on a shared machine depends on its other load. Heap is the live heap after two collections.
package measure

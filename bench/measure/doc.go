// Package measure reads the cost of an operation: CPU time, heap and allocations.
//
// CPU time is that of the process, user and system: all goroutines and the garbage collector
// count. Wall time on a shared machine depends on its other load. Heap is the live heap after
// two collections.
package measure

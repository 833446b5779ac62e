//go:build cgo

package duckdb

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"reflect"
	"runtime/cgo"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// errDriver means another driver than the version for which this package was written.
var errDriver = errors.New("the driver keeps its connection elsewhere than it used to")

// connectionOf returns DuckDB's own connection in a driver's connection. Table functions are registered
// with it, because the driver's own way to register them sets value by value. The driver keeps the
// connection in an unexported field, which is read by reflection. go.mod pins the version, and Open fails
// if the field is missing.
func connectionOf(driverConn any) (mapping.Connection, error) {
	v := reflect.ValueOf(driverConn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return mapping.Connection{}, errDriver
	}
	conn := v.Elem().FieldByName("conn")
	if !conn.IsValid() || conn.Type() != reflect.TypeFor[mapping.Connection]() {
		return mapping.Connection{}, errDriver
	}
	return mapping.Connection{Ptr: conn.FieldByName("Ptr").UnsafePointer()}, nil
}

// newHandle returns a pointer for C to a Go value: C memory that holds the value's handle. freeHandle ends
// it.
func newHandle(value any) unsafe.Pointer {
	p := C.malloc(C.sizeof_uintptr_t) // never nil: cgo ends the process when memory runs out
	*(*cgo.Handle)(p) = cgo.NewHandle(value)
	return p
}

// valueOf returns a handle's value.
func valueOf[T any](p unsafe.Pointer) T { return (*(*cgo.Handle)(p)).Value().(T) }

func freeHandle(p unsafe.Pointer) {
	(*(*cgo.Handle)(p)).Delete()
	C.free(p)
}

// Package debuginfo turns addresses in a binary into functions, files and lines, with the calls that the compiler inlined.
//
//	Open -> Info -> Frames(MappedAddress)
//	          |
//	          +-> the table of functions of a Go program (.gopclntab), which stripping leaves
//	          +-> DWARF: units -> a table of lines and calls for each unit, made when the unit is first asked for
//	          +-> the symbol tables of ELF: functions alone, as the last resort
//	          +-> a Breakpad text symbol file, which is one table
//
// A source that has no answer, or that is malformed, leaves the question to the next one. Names are as the compiler
// wrote them: mangled in C++ and Rust.
//
// # Invariants
//
//	D1  A file that contradicts itself gives an error or no frames. It never panics, and its work and memory are bounded by
//	    its size and Limits, however its tables refer to each other.
//	D2  Info.Bytes is the memory of the file, and at most Limits.Bytes. Sections are read when a question needs them.
//	D3  An Info is safe for concurrent use. Its questions are answered one after the other.
//
// Not read: split DWARF (.dwo), .debug_types, the shared strings of dwz, .gnu_debugdata, and Go's table before Go 1.20. The
// names of such units are those of the symbol tables.
//
// It knows neither profiles nor where files are: package debugfiles finds them.
package debuginfo

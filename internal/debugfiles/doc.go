// Package debugfiles finds the file that names the addresses of a binary, by the binary's build id.
//
//	Finder -> Frames(Binary, MappedAddress)
//	  |
//	  +-> files that are named       of binaries with the same build id; or the same name, if one of both has no id
//	  +-> directories                of binaries, debug files and Breakpad files, below which every file is looked at
//	  +-> Keep: one of its own       which Add fills, within Options.KeepBytes
//	  +-> a debuginfod server        Fetch puts what it has into Keep
//
// A question is answered from files at hand. It does not wait for a server: what is missing is wanted, and FetchWanted, which
// a program runs beside its questions, fetches it. The next question finds it.
//
// # Invariants
//
//	F1  Open files take the memory of their Pool together, beside the one that is being read; the ones that were not asked for
//	    longest are closed.
//	F2  A build id is hexadecimal digits before it becomes a part of a path or a URL.
//	F3  A file in Keep names the build id that it is kept by: what a server sends is checked like what a client sends.
//	F4  A Finder is safe for concurrent use. It owns no goroutine.
package debugfiles

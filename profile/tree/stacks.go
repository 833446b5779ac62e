package tree

import "context"

// StackList is the list of stacks that a query returns. profile.Stacks implements it. StackList is an
// interface because package profile imports this package.
type StackList interface {
	// Len is the number of stacks.
	Len() int
	// Numbered calls each once per stack until each returns false or ctx is done, as profile.Stacks.Numbered does.
	Numbered(ctx context.Context, see func(f Frame, function uint32), each func(frames []uint32, shared int, value int64) bool)
}

// Frame is a function call in a stack.
type Frame struct {
	// Function is the function's name or, if the call has no line information, the binary's file in
	// brackets, such as "[libc.so.6]", or "<unknown>".
	Function string
	File     string
	Line     int64
	Inlined  bool   // into its caller
	Mapping  string // file of the binary, empty if unknown
}

// textBytes returns the bytes of the frame's names.
func (f *Frame) textBytes() int64 { return int64(len(f.Function) + len(f.File) + len(f.Mapping)) }

// FlameNode is a function in a flame graph. A node and its ancestors are a call path, and Total is the
// value sampled on that path or below it.
//
// A graph is a tree with one root, named "root", for all samples. No node has two parents. In a
// difference of two profiles, values may be zero or negative, and the positive Totals of a node's children
// may add up to more than its Total. Nodes are plain values: they are not safe for concurrent use while a
// goroutine changes the tree.
//
// In JSON the names of the fields are in lower case. An empty File and empty Children are omitted. Values
// beyond 2^53 lose digits in JavaScript.
type FlameNode struct {
	Name     string       `json:"name"`           // function name, as pprof prints it
	File     string       `json:"file,omitempty"` // source file of the function, empty if unknown
	Self     int64        `json:"self"`           // value of the samples that end here
	Total    int64        `json:"total"`          // Self plus the Totals of the children
	Children []*FlameNode `json:"children,omitempty"`
}

package history

import "github.com/granarydb/granary/internal/names"

// Names is the attributes of a history at one moment (package names). A [View] and a [Writer]
// have its methods.
type Names = names.Names

// Attribute is a place of a system that has a state at every instant: a thread, a register of
// a CPU, a queue's length. Attributes are numbered from 0 in the order of their creation.
type Attribute = names.Attribute

// Top is the parent of the attributes at the top. It is no attribute itself.
const Top = names.Top

// Step is one step of a pattern of names: see [Names.Match].
type Step = names.Step

// Literal returns the step to the child that has the name.
func Literal(name string) Step { return names.Literal(name) }

var (
	// Any is the step to every child.
	Any = names.Any
	// Up is the step to the parent; Top is its own.
	Up = names.Up
)

// PathText returns a path of names as one text, which no other path has: see
// [Names.AppendPath] for that of an attribute. Package trace has the inverse, ParsePath.
func PathText(path []string) string { return names.PathText(path) }

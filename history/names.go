package history

import "github.com/granarydb/granary/internal/names"

// Names is a history's attributes at one moment (package names). A [View] and a [Writer] have its methods.
type Names = names.Names

// Attribute is a place in a system that has a state at every instant: a thread, a CPU's register, a queue's
// length. Attributes are numbered from 0 in the order of their creation.
type Attribute = names.Attribute

// Top is the parent of the attributes at the top. It is not an attribute.
const Top = names.Top

// Step is one step of a name pattern: see [Names.Match].
type Step = names.Step

// Literal returns the step to the child called name.
func Literal(name string) Step { return names.Literal(name) }

var (
	// Any is the step to every child.
	Any = names.Any
	// Up is the step to the parent. Top's parent is Top.
	Up = names.Up
)

// PathText returns a path of names as one text, unique to that path. [Names.AppendPath] returns the text
// for an attribute. Package trace has the inverse, ParsePath.
func PathText(path []string) string { return names.PathText(path) }

package profile

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// packageOf returns the package of a node's function, to colour and group by:
// the import path of a Go function, the outermost namespace of a C++ one, the
// crate, the Java package, the Python module. A name without one takes its
// file's base name; without a file too it has none, and the result is empty.
func packageOf(node *FlameNode) string {
	name := node.Name
	if head, _, found := strings.Cut(name, "::"); found {
		return namespace(head)
	}
	path := name[:nameEnd(name)]
	dir := strings.LastIndexByte(path, '/') + 1
	if dot := strings.IndexByte(path[dir:], '.'); dot > 0 {
		if dir == 0 {
			return dottedPackage(path)
		}
		return path[:dir+dot]
	}
	return node.File[strings.LastIndexAny(node.File, `/\`)+1:]
}

// nameEnd returns where a name's receiver, parameters or type arguments begin:
// slashes and dots after it belong to other packages.
func nameEnd(name string) int {
	if end := strings.IndexAny(name, "([< "); end >= 0 {
		return end
	}
	return len(name)
}

// namespace returns the outermost namespace from what precedes the first "::",
// which may hold a return type ("void std") or, in Rust, the start of a type
// ("<alloc").
func namespace(head string) string {
	if strings.HasPrefix(head, "(") { // (anonymous namespace)
		return head
	}
	head = head[strings.LastIndexByte(head, ' ')+1:]
	return strings.TrimLeft(head, "<&*")
}

// dottedPackage returns the package of a dotted name without slashes. Java's
// java.util.HashMap.get has two or more lower case elements before a class;
// anything else is a Go or Python name, whose first element is the package.
func dottedPackage(path string) string {
	elements := strings.Split(path, ".")
	lower := 0
	for lower < len(elements) && elements[lower] != "" && unicode.IsLower(rune(elements[lower][0])) {
		lower++
	}
	if lower >= 2 && lower < len(elements) && elements[lower] != "" && unicode.IsUpper(rune(elements[lower][0])) {
		return strings.Join(elements[:lower], ".")
	}
	return elements[0]
}

// isRuntime reports whether the package is part of a language's runtime, which
// is seldom what the reader of a profile looks for.
func isRuntime(name string) bool {
	switch name {
	case "runtime", "internal/bytealg", "internal/abi", "internal/cpu":
		return true
	}
	return strings.HasPrefix(name, "runtime/internal/") || strings.HasPrefix(name, "internal/runtime/")
}

// shortName drops the directories of a function's package path:
// net/http.(*conn).serve is http.(*conn).serve.
func shortName(name string) string {
	end := nameEnd(name)
	slash := strings.LastIndexByte(name[:end], '/')
	if slash < 0 || slash+1 == end {
		return name
	}
	return name[slash+1:]
}

// bareName drops the package of a short name: http.(*conn).serve is
// (*conn).serve. C++ and Rust names keep their namespaces.
func bareName(name string) string {
	dot := strings.IndexByte(name[:nameEnd(name)], '.')
	if dot <= 0 || dot+1 == len(name) || strings.Contains(name, "::") {
		return name
	}
	return name[dot+1:]
}

// methodName drops the receiver of a bare name: (*conn).serve is serve.
func methodName(name string) string {
	if receiver, method, found := strings.Cut(name, ")."); found && method != "" && strings.HasPrefix(receiver, "(") {
		return method
	}
	return name
}

// shortPackage is the package as the legend has it: its last two elements,
// which tell most packages apart where one alone would not.
func shortPackage(name string) string {
	if name == "" {
		return "no package"
	}
	last := strings.LastIndexByte(name, '/')
	if last < 0 {
		return name
	}
	return name[strings.LastIndexByte(name[:last], '/')+1:]
}

// maxNameRunes bounds a name that is shown. Those of C++ templates reach
// thousands of runes; past this nobody reads on, and each tooltip repeats it.
const maxNameRunes = 2048

// displayName is the node's name as the picture shows it.
func displayName(node *FlameNode) string {
	name := cmp.Or(node.Name, "(unknown)")
	if utf8.RuneCountInString(name) > maxNameRunes {
		return string([]rune(name)[:maxNameRunes-1]) + "\u2026"
	}
	return name
}

// ellipsis cuts s to at most room columns, the last of them an ellipsis.
func ellipsis(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	used := 0
	for i, r := range s {
		used += runeColumns(r)
		if used > room-1 {
			return s[:i] + "\u2026"
		}
	}
	return s
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns guesses how many columns of a monospace font r takes. From the
// CJK radicals on it says two, too many for some: that only clips early.
func runeColumns(r rune) int {
	if r >= 0x2e80 {
		return 2
	}
	return 1
}

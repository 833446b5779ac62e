package tree

import (
	"strings"
	"unicode"
)

// PackageOf returns the package of a function: the import path of a Go function, the outermost namespace of
// a C++ function, the crate, the Java package, the Python module. For a name without a package it is the
// base name of the file, or "" without a file.
func PackageOf(function, file string) string {
	if head, _, found := strings.Cut(function, "::"); found {
		return namespace(head)
	}
	path := function
	if end := strings.IndexAny(function, "([< "); end >= 0 { // a receiver, parameters or type arguments, which have slashes and dots of their own
		path = function[:end]
	}
	dir := strings.LastIndexByte(path, '/') + 1
	if dot := strings.IndexByte(path[dir:], '.'); dot > 0 {
		if dir == 0 {
			return dottedPackage(path)
		}
		return path[:dir+dot]
	}
	return file[strings.LastIndexAny(file, `/\`)+1:]
}

// namespace returns the outermost namespace in the text before the first "::", which may have a return
// type ("void std") or, in Rust, the start of a type ("<alloc").
func namespace(head string) string {
	if strings.HasPrefix(head, "(") { // (anonymous namespace)
		return head
	}
	head = head[strings.LastIndexByte(head, ' ')+1:]
	return strings.TrimLeft(head, "<&*")
}

// dottedPackage returns the package of a dotted name without slashes. Java's java.util.HashMap.get has
// two or more lower case elements before a class. Any other name is a Go or Python name, whose first
// element is the package.
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

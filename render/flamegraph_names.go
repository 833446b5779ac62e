package render

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
)

// packageOf returns the package of a node's function, for colours and the legend.
func packageOf(node *profile.FlameNode) string { return tree.PackageOf(node.Name, node.File) }

// nameEnd returns the start of a name's receiver, parameters or type arguments.
// Slashes and dots after it belong to other packages.
func nameEnd(name string) int {
	if end := strings.IndexAny(name, "([< "); end >= 0 {
		return end
	}
	return len(name)
}

// isRuntime reports whether the package is part of a language's runtime.
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

// methodName drops a bare name's receiver: (*conn).serve is serve.
func methodName(name string) string {
	if receiver, method, found := strings.Cut(name, ")."); found && method != "" && strings.HasPrefix(receiver, "(") {
		return method
	}
	return name
}

// shortPackage returns a package's name in the legend: its last two elements, because the last element is
// often ambiguous.
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

// maxNameRunes bounds the names in the picture, because names of C++ templates reach thousands of runes, and
// each tooltip repeats its name.
const maxNameRunes = 2048

// displayName returns the node's name in the picture.
func displayName(node *profile.FlameNode) string {
	name := cmp.Or(node.Name, "(unknown)")
	if utf8.RuneCountInString(name) > maxNameRunes {
		return string([]rune(name)[:maxNameRunes-1]) + "\u2026"
	}
	return name
}

// ellipsis shortens s to at most `room` columns, the last of which is then an ellipsis.
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

// runeColumns estimates a rune's columns in a monospace font. It returns two from the CJK radicals on. This
// is too much for some runes, which are therefore clipped early.
func runeColumns(r rune) int {
	if r >= 0x2e80 {
		return 2
	}
	return 1
}

// frameLabel returns as much of name as fits in a frame of width pixels: the whole name, or the name without
// the directories of its package, without the package, which the colour identifies, or without the receiver,
// or the start of the latter. labelFor in flamegraph.js does the same after a zoom.
func frameLabel(name string, width float64) string {
	room := int((width - 2*flamePad) / flameChar)
	if room < 3 {
		return ""
	}
	for _, shorten := range []func(string) string{shortName, bareName, methodName} {
		if columns(name) > room {
			name = shorten(name)
		}
	}
	return ellipsis(name, room)
}

// signedLabel returns a frame's label after the sign of its change, or only the sign if there is no room for
// both. A sign is never cut, because +2… can be 2% or 200%. labelFor in flamegraph.js does the same.
func signedLabel(sign, name string, width float64) string {
	if sign == "" {
		return frameLabel(name, width)
	}
	if label := frameLabel(name, width-textWidth(sign+" ")); label != "" {
		return sign + " " + label
	}
	if textWidth(sign) <= width-2*flamePad {
		return sign
	}
	return ""
}

func textWidth(s string) float64 {
	return float64(columns(s)) * flameChar
}

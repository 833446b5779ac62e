// Package selector parses label selectors as Prometheus writes them.
//
//	selector = [ name ] "{" [ matcher { "," matcher } [ "," ] ] "}" | name .
//	matcher  = ( label | quoted ) ( "=" | "!=" | "=~" | "!~" ) quoted | quoted .
//	name     = letter or ":", then letters, digits and ":" .
//	label    = letter, then letters and digits .
//	quoted   = "..." or '...' with the escapes of Go, or `...` without .
//
// The underscore is a letter. Spaces, tabs, line ends and comments from # to the end of the line may stand
// between any two of these. A name, before the braces or quoted within them, is a matcher on __name__. Inside
// braces no word is reserved; before them, the words of the variable `reserved` are.
//
// # Invariants
//
//	S1  Parse accepts the same text as Prometheus' own parser of metric selectors, and returns
//	    the same matchers in the same order. The module compat/selectors compares the two.
//	    It also accepts U+FFFD in strings, because names that were mended on the way in have it.
//	S2  Patterns have the syntax of Go's regexp, which accepts more names of Unicode classes
//	    and only patterns that are UTF-8. They are anchored at both ends, and the dot
//	    matches line ends.
//	S3  Memory and time of a parse are linear in the text and MaxProgram; the limits bound both.
package selector

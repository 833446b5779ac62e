// Package pattern matches regular expressions in a way that can be abandoned. A match of package regexp cannot be
// interrupted, and takes time in proportion to the pattern's instructions times the text's bytes: a pattern of 2.7 KB
// that counts repetitions takes minutes for a label of 2 KB.
//
// # Invariants
//
//	P1  A match equals that of package regexp, unless it is abandoned. Then its result is false and means nothing.
//	P2  An abandoned match ends within as many steps as the pattern has instructions, or stepsAtOnce.
//	P3  Long matches leave one processor to all else, and take turns on the others.
package pattern

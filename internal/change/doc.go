// Package change says what changed between two sides of a difference: which changes are more than noise, and a sentence
// about the whole.
//
// Each side is divided into parts, such as spans of time with equally many profiles. The spread of a function's values between
// the parts is its noise: P compares the means of both sides with it.
//
// # Invariants
//
//	C1  P is in [0, 1], or NaN if a side has fewer than two parts, which tell nothing of the spread. P is symmetric.
//	C2  A sentence names no function whose change is within noise, and says so if nothing changed.
package change

// Noise is the P from which on a change is within noise. Decision 0055 has the rate of equal functions below it, measured.
const Noise = 0.01

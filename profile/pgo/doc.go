// Package pgo makes small profiles for go build -pgo. The compiler reads of a profile the weight of each call: how much time
// was spent right below a call from a line of one function to another. A merged profile of many machines has these in
// many thousands of stacks. Edges adds them up, and its profile has one sample of two frames for each call.
//
// # Invariants
//
//	P1  go tool preprofile makes equal bytes of the profile of Edges and of the profiles that were added, if none
//	    was scaled. So the compiler decides alike.
package pgo

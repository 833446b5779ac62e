// Package means divides the sums of groups by numbers of times, for the means of gauges of package profile.
//
//	row         stack  pod  sum      times        mean of pod=a
//	0           s1     a     10      3       \    10/3 + 5/3 = 5, and of it s1 has 3 and s2 has 2:
//	1           s2     a      5      3       /    a part is less than 1 from its own mean
//	2           s1     b      7      1            7
//
// # Invariants
//
//	M1  The mean of a group is rounded once, however many stacks, sources and rows it is of. The parts
//	    of a group add up to it.
//	M2  A mean does not depend on the order of rows, nor on which rows are added up before, as long as
//	    these have one number of times. Nor does the part of a stack. So a store that has the sums of
//	    other stores answers as one with all of their profiles.
//
// It knows groups and numbers, and neither the store nor questions. The package makes no compatibility
// promise.
package means

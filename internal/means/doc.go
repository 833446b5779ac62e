// Package means divides the sums of groups by numbers of times. Package profile uses it for gauge means.
//
//	row         stack  pod  sum      times        mean of pod=a
//	0           s1     a     10      3       \    10/3 + 5/3 = 5, where s1 has 3 and s2 has 2:
//	1           s2     a      5      3       /    a part is less than 1 from its own mean
//	2           s1     b      7      1            7
//
// # Invariants
//
//	M1  The mean of a group is rounded once, whatever its number of stacks, sources and rows. The parts
//	    of a group add up to it.
//	M2  A mean and the part of a stack do not depend on the order of rows, nor on which rows were added
//	    up before, if those rows had the same number of times. So a store that has the sums of
//	    other stores answers as one with all of their profiles.
//
// It depends on neither the store nor queries. The package makes no compatibility promise.
package means

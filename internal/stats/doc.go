// Package stats sums up how long states last: by state, by attribute, and by the state of another attribute
// meanwhile, such as the function of a goroutine. [Of] makes the sums, and [Longest] finds the longest intervals.
//
// # Invariants
//
//	S1  An interval counts with its part in the range, once in each group. Null is no state, and counts nowhere.
//	S2  Sums, counts and quantiles are exact. The q-quantile of n durations is the least that at least q*n of them
//	    do not exceed, so it is one of them.
//	S3  Memory is within Question.MaxBytes, or the answer is ErrLimit: 16 bytes an interval, as quantiles need all
//	    durations. Summaries of a history have none of them, so all its intervals are read, in any range.
package stats

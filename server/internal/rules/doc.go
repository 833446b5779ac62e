// Package rules turns profiles into metrics: a rule is a sum of values over one interval after the other, by labels.
//
//	Parse      a file of rules, in YAML or JSON -> List
//	Set        the rules of one tenant with their values; Set.Step reads the intervals that got rows
//	Sample     a value with a name and labels, for /metrics and for remote write
//	Writer     sends samples by Prometheus' remote write
//
// Invariants:
//
//	R1  A counter is the sum of the values of all rows in intervals that have ended and were read, from the one in which its rule
//	    began. It equals the sum of profile.DB.Totals over these intervals, late rows included, and never falls: rows that are
//	    deleted, or dropped, stay counted.
//	R2  A gauge is profile.DB.Totals of the last interval that has ended.
//	R3  An interval is read again if its number of rows grew since it was read, within Keep. Rows that are later are counted by
//	    Status.TooLate.
//	R4  A rule that cannot be answered keeps its values and tells why (Status.Error). The others go on. It is asked again with the
//	    next step.
//	R5  Rules, series of a rule and kept values are bounded. A rule with too many series is an error as in R4, so that no sum lacks
//	    some of them.
//
// A Set is used by one goroutine but for its Samples and Status, which take its lock.
package rules

// Package oracle computes the answers that a table must give, for test suites. It is plain and slow, and
// shares no code with the store: rows are Go values in a slice, a condition is evaluated for one row,
// groups are maps, and a snapshot is a prefix of a list of commits.
//
// A suite keeps the rows that it inserts, in one of two forms: a [Row] by column name, or [Cells] by place.
// It asks the store and the oracle the same question and compares the answers as multisets:
//
//	question                      oracle            compared with
//	rows in a snapshot            Log.Until         Diff, Without
//	rows that match a condition   Cond.Holds        Diff
//	groups, their sums and counts Groups            Diff
//	other aggregates of groups    GroupBy, Fold     Diff
//	order of a scan               Disorder
//	sums under load               Log.Until, Sum    ==
//
// A value is a string, int64, uint64, float64, bool, uuid.UUID or []uuid.UUID, and nil for null. Text and
// AppendCell distinguish everything that the store must keep apart: -0 and 0, null and the empty string.
// Conditions follow Go and Prometheus instead: -0 equals 0, and a missing label equals the empty string.
package oracle

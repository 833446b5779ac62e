// Package filter finds the rows for which a condition holds: from expressions to series, to buckets and
// granules, to rows.
//
//	Expr --bind--> filter of leaves, one for each compared column
//	     --Chooser.Buckets, Granules--> granules that can have such rows
//	     --Chooser.Choose--> Selection of each part: spans of rows of one series each
//
// A condition on a column of the series tuple is evaluated once for each distinct value, and its result
// is a set of series. A condition on another column is evaluated on the encoded words of rows whose
// series does not decide it, on packed words where the layout allows.
//
// # Invariants
//
//	F1  A Selection has exactly the rows of its section for which the condition holds.
//	F2  The buckets and granules of a Chooser include all such rows of the state. They may
//	    include others.
//	F3  Series that were interned after the state are not considered.
//	F4  A cancelled query ends soon. Its last answers are meaningless (Chooser.Cancelled).
package filter

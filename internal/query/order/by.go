package order

// By is a column that orders an answer.
type By struct {
	// Column names the column. For a scan it is a concrete column of the table that has no lists. For
	// groups it is a column of Groups.Record that has no lists, such as "labels.pod", "max(value)", "sum"
	// or "count".
	Column string
	// Descending puts the greatest values first. Values are in the order of conditions (Expr),
	// with -0 before 0. Nulls come before all values, and last with Descending.
	Descending bool
}

package order

// By is a column by which an answer is ordered.
type By struct {
	// Column names the column: of a scan, a concrete column of the table, of any type but
	// lists; of groups, a column of Groups.Record that has no lists, such as "labels.pod",
	// "max(value)", "sum" or "count".
	Column string
	// Descending puts the greatest values first. Values are in the order of conditions (Expr),
	// with -0 before 0. Nulls come before all values, and last with Descending.
	Descending bool
}

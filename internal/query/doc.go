// Package query answers queries over a table's rows at one commit: records of rows (Scan), sums by group
// (Aggregate), and listings of series. Package columnstore exports them as methods of its Table.
//
// # How a query is answered
//
// A query works from the outside in. Conditions that decide many rows at once are evaluated first, and
// rows are read last:
//
//	condition on labels -> set of series      a bit each, each distinct value once
//	          on times  -> buckets            only buckets with such series
//	series, or bounds   -> granules           by the index, filters of trace ids
//	granule             -> parts              by their range of times, missing columns,
//	                                          indexes of trace ids
//	part                -> runs of series     all rows, none, or some
//	run                 -> rows               for which the rest of the condition holds
//
// Package filter takes these steps. Its selections are spans of rows, each in one series, or numbers of
// scattered rows. A scan turns a selection's words into Arrow. An aggregation adds them up: by series
// columns once per span, by time once per header, by stacks into cells by code. It decodes no list.
// Aggregates other than a single sum take a pass over the rows to find their groups, then a pass for each
// aggregate.
package query

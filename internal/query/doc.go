// Package query answers questions about the rows of a table at one commit: records of rows
// (Scan), sums by group (Aggregate), and listings of series. Package columnstore offers them
// as methods of its Table.
//
// # How a query is answered
//
// A query goes from the outside in. Conditions that decide many rows at once are evaluated
// first, and rows are read last:
//
//	condition on labels -> set of series      a bit each, each distinct value once
//	          on times  -> buckets            of those, the ones with such series
//	series, or bounds   -> granules           by the index, filters of trace ids
//	granule             -> parts              by their range of times, missing columns,
//	                                          indexes of trace ids
//	part                -> runs of series     all rows, none, or some
//	run                 -> rows               for which the rest of the condition holds
//
// Package filter takes these steps. Its selections are spans of rows, each of one series, or
// the numbers of scattered rows. A scan turns the words of a selection into Arrow. An
// aggregation adds them up: by the columns of series once per span, by the time of profiles
// once per header, by stacks into cells by code. It decodes no list. Aggregates other than one
// sum take a pass over the rows to find the group of each, then one for each aggregate.
package query

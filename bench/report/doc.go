// Command report measures everything that the other commands of this module measure, and writes
// BENCHMARKS.md with its pictures. It runs from the folder bench, with GOWORK=off:
//
//	go run ./report -keep DIR         measures all, and writes ../BENCHMARKS.md; what is in DIR is not measured again
//	go run ./report -papers           measures what the papers measure, in under 40 minutes, and writes that part of ../BENCHMARKS.md alone
//	go run ./report -json -keep DIR   measures and prints the targets and their peers alone; of the page's DIR, report/full.json
//	go run ./report -json -against report/full.json    compares them with those of the page
//	go run ./report -quick -json      prints the targets and their peers at a small size
//	go run ./report -quick -json -against report/quick.json
//	go run ./report -quick -json -rounds 11 > report/quick.json    the list that CI compares with
//
// A run of another command that ends is kept in DIR under its name, with its arguments, so a report that was
// interrupted goes on where it was, and a page is written again in a second. To measure again, take another folder.
//
// Each figure comes from the report of another command, which the page names beside it, so that a reader can
// run that command alone. What is in memory is measured in five rounds, each with this store and then its peers: microseconds
// vary between processes by more than within one, and with the hour. Figures are medians of the rounds, and so is a ratio, which
// relates figures of one round.
//
// With -json, a ratio that differs by more than a fifth from that of an older list is measured in up to five more rounds. It is
// an error if the median of all rounds still differs.
//
// With -json the output is a list of one object for each target:
//
//	key         of the target
//	ours, peer  medians; peer is null if no peer is measured for it, ours if it was skipped
//	store       the name of the peer
//	unit, must  of ours
//	met         whether ours meets the must; null if the size is not that of the must
//	ratio       how many times better ours is than the peer
//
// A quick list is measured in three rounds, each with this store and its peers. Its figures are medians of the
// rounds, and so is the ratio, which relates figures of one round. Those of microseconds differ by a half between rounds, so
// the list that CI compares with has more. With -against, a ratio that is lower than that of
// an older list by more than a fifth is measured in up to five more rounds. It is an error if it is lower in all of
// them. So is an answer that differs from the oracle's, in any form: the commands themselves end with one.
package main

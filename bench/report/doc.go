// Command report measures everything that the other commands of this module measure, and writes
// BENCHMARKS.md with its pictures. It runs from the folder bench, with GOWORK=off:
//
//	go run ./report                   measures all, and writes ../BENCHMARKS.md: an hour
//	go run ./report -keep DIR         keeps the reports that it was made of
//	go run ./report -from DIR         writes the page again, of kept reports, without measuring
//	go run ./report -quick -json      prints the targets and their peers at a small size: three minutes
//	go run ./report -quick -json -against report/quick.json
//
// Each figure comes from the JSON report of another command, which the page names beside it, so that a reader can
// run that command alone. A ratio relates figures of one run on one machine.
//
// With -json the output is a list of one object for each target of the design:
//
//	key         of the target
//	ours, peer  medians; peer is null if no peer is measured for it, ours if it was skipped
//	store       the name of the peer
//	unit, must  of ours
//	met         whether ours meets the must; null if the size is not that of the must
//
// With -against, the ratio of each pair is compared with that of an older list, and a ratio that fell by more than a
// fifth is an error. So is an answer that differs from the oracle's, in any form: the commands themselves end with
// one.
package main

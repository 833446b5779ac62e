// Command report runs the other commands of this module, and writes BENCHMARKS.md with its pictures. It runs
// from the folder bench, with GOWORK=off:
//
//	go run ./report -keep DIR         measures everything, and writes ../BENCHMARKS.md; skips the reports that DIR has
//	go run ./report -papers           measures the experiments of the papers, in under 40 minutes, and writes only that part of ../BENCHMARKS.md
//	go run ./report -public           measures the public benchmark beside other engines, in half an hour, and writes only that part; needs Python
//	go run ./report -json -keep DIR   measures and prints only the targets and their peers; with the page's DIR, report/full.json
//	go run ./report -json -against report/full.json    compares them with the page's
//	go run ./report -quick -json      prints the targets and their peers at a small size
//	go run ./report -quick -json -against report/quick.json
//	go run ./report -quick -json -rounds 11 > report/quick.json    the list that CI compares with
//
// A finished run of another command is kept in DIR under its name, with its arguments. A report that was
// interrupted therefore continues there, and writing a page again takes a second. To measure again, choose
// another folder.
//
// Each figure comes from the report of another command, which the page names beside it, so that a reader can
// run only that command. Figures in memory are measured in five rounds, each with this store and then its
// peers, because microseconds vary more between processes than within one, and with the hour. Figures are
// medians of the rounds. A ratio relates figures of one round, and is also a median of the rounds.
//
// With -json, a ratio that differs by more than a fifth from the ratio in an older list is measured in up to
// five more rounds. It is an error if the median of all rounds still differs.
//
// With -json the output is a list of one object for each target:
//
//	key         key of the target
//	ours, peer  medians; peer is null if no peer is measured for it, ours if it was skipped
//	store       name of the peer
//	unit, must  unit of ours, and the target value
//	met         whether ours meets must; null if the size is not the size of the target
//	ratio       how many times better ours is than the peer
//
// A quick list is measured in three rounds, each with this store and its peers. Its figures are medians of
// the rounds, and so are its ratios, each of which relates figures of one round. Figures in microseconds
// differ by a half between rounds, therefore the list that CI compares with has more rounds. With -against, a
// ratio that is lower by more than a fifth than the ratio in an older list is measured in up to five more
// rounds. It is an error if it is lower in all of them. It is also an error if an answer in any form differs
// from the oracle's: the other commands then fail.
package main

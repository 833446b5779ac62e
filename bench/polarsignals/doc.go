// Command polarsignals measures the public benchmark of the field: rows of samples with labels and whole
// locations, and ten questions, in several engines.
//
//	go run ./polarsignals -rows 100000 -set random
//	go run ./polarsignals -rows 1000000 -json
//	go run ./polarsignals -rows 250000 -set real -engines oracle,granary
//
// The benchmark is polarsignals of vortex-bench, written again from its description: the schema, how often
// each label is set and with how many values, the sizes of stacks, and the questions Q0 to Q9. A row has its
// own time, 0.5 ms after the row before it, and the rows of a label set stand together. Fewer than a million
// rows are further apart, so that all cover the same 500 s and a question selects the same share of them.
//
// Left out is the type of a frame, for all engines alike, because a location's record of this store has no
// place for it.
//
// There are three sets. In random each row has a stack of its own: 5 to 49 locations with random addresses
// and 1 to 4 lines. In real the stacks and values are those of recorded pprof profiles, which are replicated
// with the same labels and times. In mixed each second row is random. The recorded profiles are not part of
// the project, and the sets with them are skipped without them.
//
// Each engine runs in a process of its own, and answers in Arrow. The other engines are Python packages, with
// versions that requirements.txt pins, in an environment that the command makes once. They read a Parquet file
// of the same rows. Each answer has a digest, and it is an error if two engines, or an engine and the oracle,
// which looks at every row, disagree.
//
// The first answer to a question in a process is cold, and the median of the later ones warm. Files are in the
// system's cache in both.
package main

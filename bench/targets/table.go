package targets

// target is a row of the table of targets.
type target struct {
	key, about, unit string
	must, aim        float64
	higher           bool // a higher value is better
	later            bool // the feature does not exist yet
}

// table has all targets in the order of the report. A key of two answers is two targets.
var table = []target{
	{key: "insert-ids-1m", unit: "ns/row", must: 500, aim: 300, about: "CPU time to insert a fleet as lists of location ids, a transaction a profile, until no maintenance is due"},
	{key: "insert-ids-10m", unit: "ns/row", must: 400, aim: 250, about: "the same, ten times the rows"},
	{key: "insert-record", unit: "ns/row", must: 1000, aim: 600, about: "the same from Arrow records of Parca's shape: strings as dictionaries, stacks as lists of dictionary ids"},
	{key: "insert-pprof", unit: "MB/s", must: 60, aim: 160, higher: true, about: "gzipped pprof to committed rows, in bytes of raw pprof by CPU time, maintenance included: the slowest file of detail"},
	{key: "heap-1m", unit: "bytes/row", must: 25, aim: 18, about: "live heap after insert-ids-1m, less the heap before the store was opened"},
	{key: "heap-10m", unit: "bytes/row", must: 7, aim: 5, about: "the same after insert-ids-10m"},
	{key: "heap-100m", unit: "bytes/row", must: 4, aim: 3, about: "the same after a hundred times the rows of insert-ids-1m"},
	{key: "merge-all", unit: "ms", must: 6, aim: 3, about: "CPU time to sum all rows by stack, to stack codes"},
	{key: "merge-all-arrow", unit: "ms", must: 37, aim: 18, about: "the same to an Arrow record with the locations of each stack"},
	{key: "merge-all-100m", unit: "ms", must: 250, aim: 120, about: "wall time of merge-all-arrow on a hundred times the rows, compacted, with two processors"},
	{key: "merge-type-arrow", unit: "ms", must: 22, aim: 10, about: "merge-all-arrow of one sample type"},
	{key: "merge-job-arrow", unit: "ms", must: 2.2, aim: 1, about: "merge-all-arrow of one job and sample type"},
	{key: "select-pod", unit: "ms", must: 0.7, aim: 0.3, about: "the rows of one pod and sample type to Arrow: time, stack, value and pod"},
	{key: "one-profile", unit: "ms", must: 0.4, aim: 0.1, about: "the same of one profile"},
	{key: "regex-pods", unit: "ms", must: 20, aim: 8, about: "the rows of a fifth of the pods, by regular expression, of one sample type to Arrow, all columns"},
	{key: "scan-arrow", unit: "ms", must: 60, aim: 40, about: "all rows and columns to Arrow in the form Native"},
	{key: "scan-arrow-dictionary", unit: "ms", must: 82, aim: 60, about: "the same in the form Dictionary"},
	{key: "label-names", unit: "ms", must: 0.05, aim: 0.02, about: "the names of all labels, from the series"},
	{key: "label-values", unit: "ms", must: 0.05, aim: 0.02, about: "the values of the label pod"},
	{key: "types", unit: "ms", must: 0.05, aim: 0.02, about: "the distinct sample types"},
	{key: "insert-p99", unit: "us", must: 200, aim: 100, about: "99th percentile of the wall time of an insert of one profile by codes, 500 a second, beside a reader and the maintainer"},

	{key: "log-bytes", unit: "bytes/row", must: 4.3, aim: 3.5, later: true, about: "the log"},
	{key: "file-bytes-1m", unit: "bytes/row", must: 8, aim: 6, later: true, about: "the files of a million rows"},
	{key: "file-bytes-10m", unit: "bytes/row", must: 3, aim: 2.6, later: true, about: "the files of ten million rows"},
	{key: "log-cost", unit: "times", must: 1.25, aim: 1.12, later: true, about: "inserts by codes with a log, by inserts without"},
	{key: "replay", unit: "M rows/s", must: 5, aim: 10, higher: true, later: true, about: "the log, replayed by one core"},
	{key: "open-10m", unit: "s", must: 0.2, aim: 0.05, later: true, about: "opening ten million rows after Close"},
	{key: "open-10m-killed", unit: "s", must: 4, aim: 2, later: true, about: "the same after a kill"},
	{key: "cold-merge", unit: "times", must: 1.5, aim: 1.2, later: true, about: "a merge of cold rows, by a merge of hot ones"},
	{key: "serve-rate", unit: "rows/s", must: 200_000, aim: 500_000, higher: true, later: true, about: "rows held over HTTP, log on"},
	{key: "serve-insert-p99", unit: "ms", must: 20, aim: 5, later: true, about: "inserts over HTTP beside queries"},
	{key: "serve-query-p99", unit: "ms", must: 200, aim: 50, later: true, about: "queries over HTTP beside inserts"},

	{key: "hist-bytes", unit: "bytes/interval", must: 3.9, aim: 3, about: "live heap of the recorded threads, less 32 bytes an attribute for names"},
	{key: "hist-file", unit: "bytes/interval", must: 3.8, aim: 3.2, later: true, about: "the file of the recorded threads, names included"},
	{key: "hist-build", unit: "M intervals/s", must: 30, aim: 60, higher: true, about: "the recorded threads as columns in the order of their ends, by CPU time of one processor"},
	{key: "hist-state", unit: "ns", must: 100, aim: 50, about: "the state of a random attribute at a random time"},
	{key: "hist-state-1e6", unit: "ns", must: 500, aim: 200, about: "the same of a million attributes"},
	{key: "hist-slice", unit: "ms", must: 0.85, aim: 0.3, about: "all attributes at a random time, into new memory"},
	{key: "hist-slice-into", unit: "ms", must: 0.65, aim: 0.25, about: "the same into the memory of an older slice"},
	{key: "hist-cursor", unit: "ms", must: 0.15, aim: 0.06, about: "the same by a cursor that keeps 16 slices"},
	{key: "hist-slice-few", unit: "us", must: 10, aim: 2, about: "3 of a million attributes at a random time"},
	{key: "hist-sample", unit: "ms", must: 0.05, aim: 0.012, about: "100 random attributes at 2,000 times"},
	{key: "hist-kind", unit: "ms", must: 1.5, aim: 0.7, about: "the states of all threads at 2,000 times, into the memory of older intervals"},
}

// Keys returns the keys of the targets that can be measured today, in the order of the
// table.
func Keys() []string {
	var keys []string
	for _, t := range table {
		if !t.later {
			keys = append(keys, t.key)
		}
	}
	return keys
}

package targets

// target is a row in the table of targets.
type target struct {
	key, about, unit string
	group            string // name of the group that measures it
	must, aim        float64
	higher           bool // a higher value is better
}

// table has all targets in the report's order. A key with two answers is two targets.
var table = []target{
	{key: "insert-ids-1m", group: "ids", unit: "ns/row", must: 500, aim: 300, about: "CPU time to insert a fleet as location ids, a transaction a profile, until no maintenance is due"},
	{key: "insert-ids-10m", group: "ids", unit: "ns/row", must: 400, aim: 250, about: "the same, ten times the rows"},
	{key: "insert-record", group: "records", unit: "ns/row", must: 1000, aim: 600, about: "the same from Arrow records of Parca's shape, in dictionaries"},
	{key: "insert-pprof", group: "pprof", unit: "MB/s", must: 60, aim: 160, higher: true, about: "gzipped pprof to committed rows, raw bytes by CPU time, maintenance included: the slowest file"},
	{key: "heap-1m", group: "ids", unit: "bytes/row", must: 25, aim: 18, about: "live heap after insert-ids-1m, less that before"},
	{key: "heap-10m", group: "ids", unit: "bytes/row", must: 7, aim: 5, about: "the same after insert-ids-10m"},
	{key: "heap-100m", group: "ids", unit: "bytes/row", must: 4, aim: 3, about: "the same after a hundred times the rows"},
	{key: "merge-all", group: "queries", unit: "ms", must: 6, aim: 3, about: "CPU time to sum all rows by stack, to stack codes"},
	{key: "merge-all-arrow", group: "queries", unit: "ms", must: 37, aim: 18, about: "the same to an Arrow record with the locations of each stack"},
	{key: "merge-all-100m", group: "ids", unit: "ms", must: 250, aim: 120, about: "wall time of merge-all-arrow on a hundred times the rows, two processors"},
	{key: "merge-type-arrow", group: "queries", unit: "ms", must: 22, aim: 10, about: "merge-all-arrow of one sample type"},
	{key: "merge-job-arrow", group: "queries", unit: "ms", must: 2.2, aim: 1, about: "merge-all-arrow of one job and sample type"},
	{key: "select-pod", group: "queries", unit: "ms", must: 0.7, aim: 0.3, about: "the rows of one pod and sample type to Arrow: time, stack, value and pod"},
	{key: "one-profile", group: "queries", unit: "ms", must: 0.4, aim: 0.1, about: "the same of one profile"},
	{key: "regex-pods", group: "queries", unit: "ms", must: 20, aim: 8, about: "the rows of a fifth of the pods, by regular expression, of one type to Arrow, all columns"},
	{key: "scan-arrow", group: "queries", unit: "ms", must: 60, aim: 40, about: "all rows and columns to Arrow in the form Native"},
	{key: "scan-arrow-dictionary", group: "queries", unit: "ms", must: 82, aim: 60, about: "the same in the form Dictionary"},
	{key: "label-names", group: "queries", unit: "ms", must: 0.05, aim: 0.02, about: "the names of all labels, from the series"},
	{key: "label-values", group: "queries", unit: "ms", must: 0.05, aim: 0.02, about: "the values of the label pod"},
	{key: "types", group: "queries", unit: "ms", must: 0.05, aim: 0.02, about: "the distinct sample types"},
	{key: "insert-p99", group: "queries", unit: "us", must: 200, aim: 100, about: "wall time to insert a profile by codes, 500 a second, beside a reader and maintenance"},

	{key: "log-bytes", group: "durable", unit: "bytes/row", must: 4.3, aim: 3.5, about: "the log of a fleet by codes, without dictionaries"},
	{key: "log-cost", group: "durable", unit: "times", must: 1.25, aim: 1.12, about: "CPU time of inserts by codes with a log, by inserts without"},
	{key: "log-cost-maintained", group: "durable", unit: "times", must: 1.06, aim: 1.04, about: "the same with the maintenance that is due"},
	{key: "file-bytes-1m", group: "durable", unit: "bytes/row", must: 8, aim: 6, about: "all files of a closed store, names of functions included"},
	{key: "file-bytes-1m-ids", group: "durable", unit: "bytes/row", must: 8, aim: 6, about: "the same without names of functions"},
	{key: "file-bytes-10m", group: "durable", unit: "bytes/row", must: 3, aim: 2.6, about: "file-bytes-1m with ten times the rows"},
	{key: "file-bytes-10m-ids", group: "durable", unit: "bytes/row", must: 3, aim: 2.6, about: "the same without names of functions"},
	{key: "sync-8", group: "durable", unit: "syncs", must: 0.35, aim: 0.25, about: "syncs a commit of 8 writers under SyncEach"},
	{key: "sync-64", group: "durable", unit: "syncs", must: 0.1, aim: 0.05, about: "the same of 64 writers"},
	{key: "hist-log-bytes", group: "durable", unit: "bytes/interval", must: 6, aim: 4.3, about: "what the log gets of the recorded threads"},
	{key: "hist-log", group: "durable", unit: "ns/interval", must: 8, aim: 5, about: "CPU time to build the recorded threads with it, less that without"},
	{key: "replay", group: "durable", unit: "M rows/s", must: 5, aim: 10, higher: true, about: "open-10m-killed by CPU time of one processor: nearly all stacks are known"},
	{key: "replay-stacks", group: "durable", unit: "M rows/s", must: 3, aim: 6, higher: true, about: "the same with a tenth of the rows, of which each fourth has a new stack"},
	{key: "open-10m", group: "durable", unit: "s", must: 0.2, aim: 0.05, about: "wall time of one processor to open file-bytes-10m-ids, and to list the sample types"},
	{key: "open-10m-killed", group: "durable", unit: "s", must: 4, aim: 2, about: "the same after a kill, all rows in the log"},
	{key: "cold-merge", group: "durable", unit: "times", must: 1.5, aim: 1.2, about: "merge-all of rows in files in the system's cache, by merge-all in memory"},
	{key: "cold-merge-10m", group: "durable", unit: "times", must: 1.5, aim: 1.2, about: "the same with ten times the rows"},
	{key: "cold-stacks", group: "durable", unit: "ms", must: 50, aim: 20, about: "CPU time to first read the dictionaries of cold-merge-10m, 300,000 stacks"},
	{key: "filing-p99", group: "durable", unit: "times", must: 2, aim: 1.3, about: "wall time of inserts while files are written, by that of other inserts, a thousand profiles a second"},
	{key: "serve-rate", group: "serve", unit: "rows/s", must: 200_000, aim: 500_000, higher: true, about: "rows acknowledged over HTTP, with the log, beside questions"},
	{key: "serve-insert-p99", group: "serve", unit: "ms", must: 20, aim: 5, about: "wall time of a push over HTTP, at 41,348 rows a second beside questions, clients in the same machine"},
	{key: "serve-query-p99", group: "serve", unit: "ms", must: 200, aim: 50, about: "the same of a question beside those pushes"},

	{key: "hist-bytes", group: "histories", unit: "bytes/interval", must: 3.9, aim: 3, about: "live heap of the recorded threads, less 32 bytes an attribute for names"},
	{key: "hist-file", group: "histories", unit: "bytes/interval", must: 3.8, aim: 3.2, about: "the file of the recorded threads, names included"},
	{key: "hist-build", group: "histories", unit: "M intervals/s", must: 30, aim: 60, higher: true, about: "the recorded threads in the order of their ends, one processor"},
	{key: "hist-state", group: "histories", unit: "ns", must: 100, aim: 50, about: "the state of a random attribute at a random time"},
	{key: "hist-state-1e6", group: "histories", unit: "ns", must: 500, aim: 200, about: "the same of a million attributes"},
	{key: "hist-slice", group: "histories", unit: "ms", must: 0.85, aim: 0.3, about: "all attributes at a random time, into new memory"},
	{key: "hist-slice-into", group: "histories", unit: "ms", must: 0.65, aim: 0.25, about: "the same into the memory of an older slice"},
	{key: "hist-cursor", group: "histories", unit: "ms", must: 0.15, aim: 0.06, about: "the same by a cursor that keeps 16 slices"},
	{key: "hist-slice-few", group: "histories", unit: "us", must: 10, aim: 2, about: "3 of a million attributes at a random time"},
	{key: "hist-sample", group: "histories", unit: "ms", must: 0.05, aim: 0.012, about: "100 random attributes at 2,000 times"},
	{key: "hist-kind", group: "histories", unit: "ms", must: 1.5, aim: 0.7, about: "the states of all threads at 2,000 times, into older memory"},
}

// Keys returns the targets' keys, in the table's order.
func Keys() []string {
	var keys []string
	for _, t := range table {
		keys = append(keys, t.key)
	}
	return keys
}

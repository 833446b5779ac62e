//go:build cgo

package main

const longHelp = `granary-sql loads pprof profiles into a column store in memory and queries them in
DuckDB's SQL. The profiles are one table, samples, with a row for each value of each
sample:

  time         when the profile was taken, UTC           TIMESTAMP
  sample_type  what was measured: cpu, alloc_space, ...  VARCHAR
  sample_unit  nanoseconds, bytes, count, ...            VARCHAR
  value        the amount                                BIGINT
  function     the leaf of the stack                     VARCHAR
  stack        function names, the leaf first            VARCHAR[]
  file         the input that the profile came from      VARCHAR

and a column for each label by its name, such as thread, NULL where a sample has
none. --schema lists all columns of the inputs, with examples of their values.

A profile has several sample types, and a sum over all of them is meaningless: choose
one. In SQL, names with characters other than letters, digits and _ need double
quotes, texts single quotes. SQL ignores the case of names: labels that differ only in
case get numbered suffixes, and a label with the name of a column above keeps its name
in the store: "pprof_labels.value".

Inputs are files, directories, http URLs and - for standard input. In a directory,
and below it, files named .pb.gz, .pb, .pprof, .prof or .gz count as profiles. A bad
profile is named on standard error; the answer then comes from the others, and the
exit code is 1. After wrong use or invalid SQL it is 2.`

const examples = `  # the functions with the highest cost of their own
  granary-sql "SELECT function, sum(value) AS flat FROM samples
    WHERE sample_type = 'cpu' GROUP BY ALL ORDER BY flat DESC LIMIT 10" cpu.pb.gz

  # the same with their callees; recursion counts once
  granary-sql "SELECT f AS function, sum(value) AS cum FROM (
    SELECT unnest(list_distinct(stack)) AS f, value FROM samples WHERE sample_type = 'cpu'
    ) GROUP BY ALL ORDER BY cum DESC LIMIT 10" cpu.pb.gz

  # the sum of each sample type
  granary-sql "SELECT sample_type, sample_unit, count(*), sum(value) FROM samples GROUP BY ALL" heap.pb.gz

  # by label, of the samples that go through one function
  granary-sql "SELECT thread, sum(value) FROM samples WHERE sample_type = 'cpu'
    AND list_contains(stack, 'main.work') GROUP BY ALL" cpu.pb.gz

  # over time, a step a minute
  granary-sql "SELECT time_bucket(INTERVAL '1 minute', time) AS step, sum(value) FROM samples
    WHERE sample_type = 'inuse_space' GROUP BY ALL ORDER BY step" heaps/

  # as a Parquet file for other tools
  granary-sql "COPY samples TO 'samples.parquet'" heaps/

  granary-sql --schema heaps/`

package states

// Sections that the helps of the history commands share.
const (
	fileHelp = `FILE is one of:
  run                        the set run.ihs.gz with run.attrs.tsv.gz; either
                             suffix may be added
  run.history                a history file, whatever its name ends in: it is
                             read as far as the question needs it, and at most
                             256 MiB of it are in memory. It is whole, a part
                             (import --partial), or several (import --join)
  run.csv                    CSV (see granary history import --help)
  trace.out                  a Go execution trace, of Go 1.11 or later
  trace.json or .pftrace     a trace of Chrome (JSON) or Perfetto (protobuf)
  sched.txt                  the Linux kernel's events as text: of perf, ftrace,
                             trace-cmd, LTTng (babeltrace2)
  spans.json or .pb          spans of OpenTelemetry (OTLP)
  app.jfr                    a recording of Java: waits of threads, collections
  - or an http URL           one of both, from standard input or a server. Each
                             may be in gzip or zstd, as run.csv.gz
  synth:ATTRIBUTES:CHANGES   a synthetic history`

	// askedHelp is fileHelp for commands with --db.
	askedHelp = fileHelp + `

With --db DIR, FILE is the name of a history that 'granary history load' stored.`

	attributeHelp = `

ATTRIBUTE is a path of names separated by /: Threads/4297/Exec_name. A backslash
escapes the next character: a\/b is one name with a slash.`

	patternHelp = `

PATTERN is a path of names separated by /, in which * matches any name and .. is
the parent: 'CPUs/*/Current_thread'. It does not match the attributes below. A
backslash escapes the next character: a\/b is one name with a slash, \* is a
name of one star. Several patterns select the attributes of each, in the order
of the patterns.`

	timeHelp = `

TIME is one of:
  +1.5s or start+1.5s      after the start of the history
  end-200ms                before its end; latest-200ms is the same
  12.5%                    a share of its duration
  2026-01-31T09:00:00.5Z   RFC 3339; a date, or a date and time, without a zone
                           is local
  1769850000.5             Unix time of 10 digits in seconds; 13 are in
                           milliseconds, 16 in microseconds, 19 in nanoseconds
  -1h, 1h or now-1h        before now; units ns, us, ms, s, m, h, d and w
  12345.678 or 12345678    other numbers count seconds with a point, or
                           nanoseconds, since 1970`
)

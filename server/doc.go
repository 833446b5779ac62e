// Package server speaks the protocols of continuous profiling over one columnstore.Store, or over
// several servers that have one each. It limits what a request can ask for, and trusts no input.
//
// # Pushes
//
//	POST /push.v1.PusherService/Push   Connect (protobuf or JSON), gRPC or gRPC-Web: series of labels,
//	                                   each with pprof profiles, and an id for each profile
//	POST /ingest?name=app{label=v}     the SDKs of Pyroscope: pprof in the part profile of a form, or
//	                                   as the body. from is the time of a profile without one.
//	POST /pprof?label=v                pprof as the body. time is that of a profile without one, and origin
//	                                   the name of its file: no labels. type, selector, from and until
//	                                   are refused.
//	POST /v1development/profiles       OTLP 1.11 as protobuf or JSON, gzipped or not
//	     /opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export   OTLP as gRPC
//
// Times are in Unix seconds or nanoseconds. Profiles are gzipped or not. Where pprof is taken, folded stacks are too: lines of
// functions, root first, with semicolons between them, a space and a number, which is of samples in count.
//
//	S1  A request is one transaction: all of its profiles are committed, or none is. An error means
//	    that nothing was inserted. There is one exception: a disk that fails behind a commit
//	    (disk.ErrNotDurable) is answered with 503, and the rows are visible. A repetition with
//	    an id does not count them twice.
//	S2  OTLP alone has answers about a part: profiles that contradict themselves or exceed a limit are
//	    left out and counted in partial_success, with the first reason. The others are S1.
//	S3  A profile that is pushed twice counts twice, unless it has an id. An id is RawSample.ID of
//	    Push or profile_id of OTLP, and the header X-Idempotency-Key for a whole request of any
//	    protocol. Ids are of a tenant. The push with an id that comes while another is in progress
//	    waits for its outcome: after a success it is accepted and not inserted, after a failure
//	    it is tried. Ids are remembered for at least an hour, or until 524,288 later ones.
//	    They are in memory: what is repeated after a restart of the server counts twice.
//	S4  Labels of a profile are stored as they were pushed, except those of Options.DropLabels and
//	    those with an empty value. Labels of samples are never dropped. Two labels of one name
//	    are an error.
//	S5  A profile without a label __name__ gets one from its types: process_cpu, memory, or the last
//	    sample type, such as goroutine. Mutex and block profiles have the same types: those of SDKs
//	    are told apart by sample_type_config, and others stay without a name.
//	S6  A request is read within Limits.ReadTime and Limits.Body, and a profile within
//	    Limits.Profile, before it is decoded. The messages of a request are counted before they
//	    are decoded.
//	    All requests in progress together take Limits.PushBytes, and what one of them takes beyond it. The
//	    others wait for two seconds and are answered with 503.
//	S7  The sets of labels that a tenant pushes are bounded (Limits.Series, status 429). The tenant
//	    is the header X-Scope-OrgID, or the empty text without it. Tenants are a bound and no wall:
//	    all profiles are in one table, without their tenant. Profiles without rows do not count.
//	S8  A profile without samples is no error.
//
// The name app of /ingest becomes the label service_name, or app_name if the labels in its braces
// have a service_name. The following of /ingest is not used: until, sampleRate, units,
// aggregationType, spyName, and in sample_type_config all but the names that tell mutex from block
// profiles. Types and units are those of the profile. A part prev_profile is refused, since
// profiles are not subtracted, and so are formats other than pprof and folded stacks (415).
//
// Of OTLP, attributes of the resource and of the profile become labels under their own names, such as
// service.name, which becomes the label service_name as well, unless there is one; lists and bytes are
// left out. Attributes of a sample become its labels, whole
// numbers with their unit. A link becomes trace_id and span_id. The value of a sample is the sum of
// its values, or the number of its timestamps if it has none; its time is that of the profile. An
// original payload of pprof is inserted instead of the profile. The scope, attributes of locations
// and those of mappings other than build ids are left out.
//
// # Questions
//
//	/querier.v1.QuerierService/*   Connect (protobuf or JSON), gRPC or gRPC-Web: what Grafana's data source
//	                               for Pyroscope asks. Start and end are Unix milliseconds, both
//	                               inclusive; 0 is no bound.
//	GET /pprof                     the merged profile, gzipped, for go tool pprof, speedscope and PGO
//	GET /arrow                     rows as an Arrow stream; form is dictionary, plain or native, stacks is
//	                               names or ids, after is a unit (columnstore.Table.Seal): rows of later units and of
//	                               none, 410 if some of these units are gone
//	GET /api/v1/flame              a tree as columns of JSON: a flame graph, inverted, around a function, of two sides
//	GET /api/v1/top                functions, of one side or two
//	GET /api/v1/command            the same question for a terminal
//	GET /api/v1/profiles           the profiles of a range of time
//	GET /api/v1/store              what the store has, may have, and has no more
//	GET /api/v1/histories          the interval histories of the store, and of each its attributes (NAME/tree),
//	                               states by pixel (NAME/pixels), of an instant (NAME/at) and of a range (NAME/range)
//	GET /api/v1/states             sums of samples by the state of an attribute at their time
//	GET /api/v1/meanwhile          the samples of all others while an attribute was in a state
//	GET /metrics                   for Prometheus; grafana/dashboard.json shows them
//	GET /healthz, /readyz          is it alive; does it take requests
//
// Parameters of the two GETs of profiles: type, as people write it (cpu) or an id (Q2); selector; from and
// to, as RFC 3339 or a date in UTC, a Unix time (of 10 digits in seconds, 13 in milliseconds, 16 and 19), a duration before
// now (-1h, 1d12h), or one before the newest profile (latest-1h). Others are errors, by name. The text of an error is cut at 1,000 bytes.
//
//	Q1  An answer is that of package profile to the same question, of one snapshot. Its totals are
//	    those of the rows: a flame graph with fewer functions has the others in nodes named other.
//	    Widths are not negative, so functions with values below 0 of their own have 0.
//	Q2  The id of a type is name:sample:unit:period:unit, where name is the label __name__, and a colon
//	    in a part is written %3A. Profiles without a name are of the name "profile". A type has the
//	    labels __profile_type__ (the id), __type__, __unit__, __period_type__ and __period_unit__, by
//	    which questions choose and group, and which hide pushed labels of these names. An id can be
//	    in front of the braces of a selector.
//	Q3  A point of SelectSeries is the sum of the profiles from its time up to the next step, or of
//	    gauges the mean of each source, unless the sum is asked for. For the average it is their
//	    sum divided by their number, of gauges too; samples with one time and equal labels are one
//	    profile. Steps are multiples of the step since 1970.
//	Q4  What is not answered is an error that names it (unimplemented): ids of profiles, go_pgo, trees,
//	    DOT, asynchronous questions, exemplars, heat maps.
//	Q5  A query ends within Limits.QueryTime. Its groups are within Limits.QueryBytes, and so is a flame
//	    graph or a difference with its stacks, before functions are left out. An answer of
//	    more than Limits.ResultBytes is an error, or a cut connection if a part of it was sent.
//	Q6  Answers about labels are of all selectors of a question together. They read almost no rows: they
//	    can name what only profiles of neighbouring times have, or samples of other types.
//
// # Pages
//
// GET /api/v1 answers what a web page draws. docs/serving.md has the parameters and the columns.
//
//	W1  Totals are those of the rows: those of a tree are self values and totals of children, with their signs, and
//	    what a tree leaves out is in nodes that say how many they stand for. Functions are those of all stacks,
//	    whatever a tree leaves out.
//	W2  An answer names its commit. A question with it is answered from the same snapshot, or with 410: the last 8
//	    snapshots are held, for 30 seconds. The store can take them back for its budget.
//	W3  An ETag is of a snapshot and a question. A client that has the answer gets 304, and nothing is read.
//	W4  A URL has at most 8 KiB, and a pattern 1,000 bytes and 5,000 steps. All else is as in Q5.
//	W5  latest-1h is before the newest profile of the snapshot. -1h is before now, the instant that the question came, which
//	    is a part of the question that an ETag is of. Gauges are means, unless the sum is asked for.
//
//	W6  States of samples are those of profile.DB.MergeByState, in the same snapshot. Samples without a state are in a
//	    group of their own or counted, and never dropped. Values of samples with states are sums, of gauges too.
//	W7  A question about a history costs what its pixels and rows do, and a visit of each attribute that fits the
//	    path. Summaries of the histories that were asked for are kept as long as snapshots are (W3), outside of the
//	    memory budget: at most 5 % of the bytes of these histories, and the states that they have and the store drops.
//
// # Older profiles
//
// With Options.Older a server can read profiles that its store has no more:
//
//	POST /older/{FROM}--{TO}/read   reads those of a range into memory; the answer is lines of JSON about how far it is
//	/older/{FROM}--{TO}/...         all questions and pages about them, as they are above, but gRPC, whose paths begin at the host
//
//	O1  An answer below the path is that of a server with the profiles of the range alone, all of them. Without them it
//	    is 409.
//	O2  One range is read at a time, and one is kept. It goes with the first request ten minutes behind the last question about it, or when
//	    another is read. Requests for the range that
//	    is read wait for it; if the client whose request reads it leaves, one of the others begins again.
//	O3  They take Limits.OlderBytes, and what questions that are in progress still use of the range before. A reading beyond that is
//	    an error, and nothing of it is kept. What Options.Older itself takes is beside that.
//	O4  Places for queries (Limits.Queries), tokens and counts are those of the server. There are no pushes, metrics or health there.
//
// # Fronts
//
// A server of NewFront has nodes, which are servers of New of the same version, instead of a store.
//
//	F1  An answer is that of one server with the profiles of all nodes. A profile is on one node.
//	F2  What would not be exact is an error (unimplemented): all types at once, if two nodes have gauges.
//	    Rows (/arrow) and pushes are such errors too, which name the nodes, and of pages profiles, the store, histories,
//	    states, commits, default types, and sides that are scaled.
//	F3  A node that is away is an error that names it (unavailable, 502), or with Nodes.PartialAnswers
//	    a header Granary-Warning of the answer for each node, and a comment in a profile. An answer
//	    without any node is an error.
//	F4  Kinds of two nodes (profile.ErrMixed) are told apart by their names, and those without a name
//	    by their types.
//	F5  Limits are those of the front, and a node's own. A node has three quarters of Limits.QueryTime, and
//	    Limits.ResultBytes; stacks of all nodes have Limits.QueryBytes.
//
// The package is a Go module of its own, so that the protocols' libraries stay out of the
// module graph of a program that embeds the store.
package server

// Package server speaks the protocols of continuous profiling over one columnstore.Store, or over several
// servers that have one each. It limits every request, and trusts no input.
//
// # Pushes
//
//	POST /push.v1.PusherService/Push   Connect (protobuf or JSON), gRPC or gRPC-Web: series of labels,
//	                                   each with pprof profiles, and an id for each profile
//	POST /ingest?name=app{label=v}     (or /pyroscope/ingest) Pyroscope's SDKs: pprof in the part profile of a form, or
//	                                   as the body. from is the time of a profile that has none.
//	POST /pprof?label=v                pprof as the body. time is the time of a profile that has none,
//	                                   and origin its file name: neither is a label. type, selector,
//	                                   from and until are refused.
//	POST /traces?label=v               a Go execution trace of Go 1.25 or later: its states become a history, and its CPU
//	                                   samples a profile, with the parameters of POST /pprof
//	POST /v1development/profiles       OTLP 1.11 as protobuf or JSON
//	     /opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export   OTLP as gRPC
//
// Times are as in Queries, except that none counts from the newest profile. Profiles are in gzip, in zstd or in neither, and a
// body may have the Content-Encoding gzip, or outside of Connect zstd or br. Where pprof is taken, the other formats of package profile/format are
// too, such as folded stacks; format names one at /ingest, such as trie. Bytes that are not UTF-8 become U+FFFD, and
// values of labels over Limits.LabelValue are cut.
//
//	S1  A request is one transaction: all of its profiles are committed, or none is. An error means
//	    that nothing was inserted, with one exception: if a disk fails behind a commit
//	    (disk.ErrNotDurable), the answer is 503 and the rows are visible. A repetition with
//	    an id does not count them twice, and is accepted once they are durable.
//	S2  Only OTLP has partial answers: profiles that contradict themselves or exceed a limit are
//	    left out and counted in partial_success, with the first reason. S1 holds for the others.
//	S3  A profile that is pushed twice counts twice, unless it has an id. An id is RawSample.ID of
//	    Push, profile_id of OTLP, or the header X-Idempotency-Key for a whole request of any
//	    protocol. Each tenant has its own ids. If a push with the same id is in progress, the
//	    next waits for its outcome: after a success it is accepted and not inserted, after a
//	    failure it is tried. Ids are remembered for at least an hour, or until 524,288 later ids.
//	    They are in memory: a push that is repeated after a restart of the server counts twice.
//	S4  Profile labels are stored as they were pushed, except Options.DropLabels and labels with
//	    an empty value. A profile without service_name gets it from app_name or service.name, or unknown_service. Sample
//	    labels are never dropped. Two labels with the same name are an error.
//	S5  A profile without a label __name__ gets one from its types: process_cpu, memory, wall, or the last
//	    sample type, such as goroutine. spyName of /ingest becomes the label pyroscope_spy. Mutex and block profiles have the
//	    same types: profiles from SDKs are told apart by sample_type_config, and others stay without a name. Profiles with a
//	    duration, the label __delta__="false" (which is not stored) or a sample_type_config without cumulative are stored as
//	    sent. In others, and not in OTLP, alloc_objects, alloc_space, contentions and delay count from the start of a process,
//	    and become the growth since the profile before of their source: the profiles of one program with equal labels. The
//	    first of a source, and one after a fallen value or an hour without, counts 0, or whole with Options.FirstWhole. The
//	    header Granary-Cumulative of the answer tells which.
//	S6  A request is read within Limits.ReadTime and Limits.Body, and a profile within
//	    Limits.Profile, before it is decoded. A request's messages are counted before they
//	    are decoded. All requests in progress together take Limits.PushBytes, plus the excess of
//	    one of them, up to Limits.PushMost. The others wait for two seconds and are answered with 503.
//	S7  The sets of labels that a tenant pushes are bounded (Limits.Series, status 429). Profiles without rows do not count.
//	S8  A profile without samples is not an error.
//	S9  The history of a trace is named by the labels: api, or api{pod=1}. Labels tell processes apart. Traces of one process
//	    that overlap, as those of a flight recorder do, are joined, also over a restart of the server: what is not later than
//	    the history counts once. A trace is several transactions, each of which has the states and the samples of a part of
//	    it; what an error leaves out comes with the next trace that has it. A sample has the labels goid and track: its
//	    state is Goroutines/{track}, and Goroutines/{track}/woken by is the track of what woke it. States are kept as long as
//	    the profiles of the tenant, within the budget of the store.
//
// The name app of /ingest becomes the label service_name, or app_name if the labels in its braces have a
// service_name. sampleRate and units are those of formats
// without types, such as folded stacks. The following parts of /ingest are ignored: until, aggregationType,
// and in sample_type_config everything but cumulative and the names that tell mutex from block profiles. Types
// and units come from the profile. A part prev_profile is refused, because the server has the previous profile, and
// so are formats that package profile/format does not know (415).
//
// In OTLP, attributes of the resource and of the profile become labels under their own names. Samples of a period of cpu in
// nanoseconds also get the type cpu, of that time. Lists and bytes are left out. Sample
// attributes become sample labels, whole numbers with their unit. A link becomes trace_id and span_id. A
// sample's value is the sum of its values, or the number of its timestamps if it has none; its time is the
// profile's. An original payload in pprof is inserted instead of the profile. The scope, attributes of
// locations, and attributes of mappings other than build ids are left out.
//
// # Queries
//
//	/querier.v1.QuerierService/*   Connect (protobuf or JSON), gRPC or gRPC-Web: the queries of Grafana's data
//	                               source for Pyroscope. Start and end are Unix milliseconds, both
//	                               inclusive; 0 means no bound, and times in seconds are refused.
//	GET /pyroscope/render          a flame graph with values over time, each from a snapshot of its own, or a call graph (format=dot)
//	GET /pyroscope/render-diff     a flame graph of two sides
//	GET /pyroscope/labels          names of labels, and /pyroscope/label-values, which all answer without /pyroscope too
//	GET /pprof                     the merged profile, gzipped, for go tool pprof, speedscope and PGO
//	GET /pgo                       the calls of the merged CPU profile, for go build -pgo
//	GET /arrow                     rows as an Arrow stream; form is dictionary, plain or native, stacks is
//	                               names or ids, after is a unit (columnstore.Table.Seal): rows of later units and
//	                               rows without a unit, 410 if some of these units are gone
//	GET /api/v1/flame              a tree as columns of JSON: a flame graph, inverted, around a function, of two sides
//	GET /api/v1/top                functions, of one side or two
//	GET /api/v1/command            the same query as a terminal command
//	GET /api/v1/profiles           the profiles in a time range
//	GET /api/v1/store              the store's data, limits and losses
//	GET /api/v1/histories          the store's interval histories, and of each its attributes (NAME/tree),
//	                               states by pixel (NAME/pixels), at an instant (NAME/at) and in a range (NAME/range)
//	GET /api/v1/states             sums of samples by the state of an attribute at their time
//	GET /api/v1/meanwhile          the samples of all others while an attribute was in a state
//	/mcp                           for assistants (Options.Assist): one handler for each tenant, within the limits of queries
//	GET /rules                     the rules of the tenant, and what came of them
//	POST /rules                    replaces the rules that the tenant has posted
//	GET /metrics                   for Prometheus, in text or OpenMetrics' form; grafana/dashboard.json shows them
//	POST /backup                   a tar of the store's directory with all that was acknowledged before, if Options.Backups is set
//	POST /delete                   deletes samples by selector, type, from and to, if Options.Deleted is set; selector={} is all
//	POST /symbols                  keeps a binary, its debug information or a Breakpad file, which names addresses (Options.Symbols)
//	POST /archives                 keeps the source files of a version, a tar (gzipped or not) or a zip, for names that begin with prefix, without
//	                               their first strip folders (Options.Archives); GET lists them, DELETE removes that of a version and a prefix
//	GET /healthz, /readyz          is it alive; does it take pushes and queries (also /ready)
//
// Parameters of /pprof and /arrow: type, in short form (cpu) or as an id (Q2); selector; from and to (or until), as
// RFC 3339 or a date in UTC, a Unix time (10 digits for seconds, 13 for milliseconds, 16 and 19), a
// duration before now (-1h, 1d12h), or one before the newest profile (latest-1h). Other parameters are errors that name
// them. The text of an error is cut at 1,000 bytes.
//
//	Q1  An answer equals package profile's answer to the same query, from one snapshot. Its totals are
//	    the totals of the rows: a flame graph with fewer functions has the others in nodes named
//	    other. Widths are not negative, so functions with negative self values have 0.
//	Q2  A type's id is name:sample:unit:period:unit, where name is the label __name__, and a colon
//	    in a part is written %3A. Profiles without a name have the name "profile" here. A type has the
//	    labels __profile_type__ (the id), __type__, __unit__, __period_type__ and __period_unit__, by
//	    which queries choose and group, and which hide pushed labels with these names. An id can be
//	    in front of a selector's braces.
//	    A short name, such as cpu, means all its periods, if their values add up; an id means one type. GET /pprof that selects
//	    no profile is 404 and names the types that there are.
//	    :delta behind an id changes nothing, and inuse-space means inuse_space. A label with other characters than letters, digits and
//	    underscores is also found with an underscore for each: otel_scope_version. Lists have such names, unless the
//	    header Accept has allow-utf8-labelnames=true. profile_id and span_id of samples are one label.
//	Q3  A point of SelectSeries is the sum of the profiles from its time up to the next step, or
//	    each source's mean for gauges, unless the sum is requested. The average is the sum divided
//	    by the number of profiles, for gauges too; samples with one time and equal labels are one
//	    profile. Steps are multiples of the step since 1970.
//	Q4  Anything unsupported is an error that names it (unimplemented): go_pgo, asynchronous queries, and in the services of
//	    Pyroscope beside the querier what would need data that is not kept: settings, recording rules, repositories, uploads.
//	    Lists of these are empty.
//	Q5  A query ends within Limits.QueryTime, and soon after its client has gone, whatever its patterns cost. Its groups
//	    are within Limits.QueryBytes, and so is a flame graph, a difference or a profile with its stacks, before
//	    functions are left out. An answer that exceeds Limits.ResultBytes is an error, or a cut connection if a part of
//	    it was sent. Encoded answers together take Limits.AnswerBytes, plus the excess of one of them. A query keeps its
//	    place until its answer is written; a client that reads too slowly is cut (Limits.ReadRate).
//	Q6  Answers about labels combine all selectors of a query. They read almost no rows: they
//	    can name labels that only profiles at neighbouring times have, or samples of other types. Names of the labels of
//	    a selector are the names in its rows.
//	Q7  A profile's id is made from its time and labels. Exemplars have it, and one of them can be asked for. The exemplar
//	    of a point or cell is the profile, or the span in a profile, with the greatest value. A heat map has at most 20 cells
//	    for values, of equal size over all series.
//
// # Pages
//
// GET /api/v1 has the data that a web page draws. docs/serving.md has the parameters and the columns.
//
//	W1  Totals are the totals of the rows. A tree's totals are self values and totals of children, with their
//	    signs. A node for left-out functions says how many it stands for. Functions include all stacks,
//	    whatever a tree leaves out.
//	W2  An answer names its commit. A query with it is answered from the same snapshot, or with 410: the last 8
//	    snapshots are held, for 30 seconds. The store can take them back for its budget.
//	W3  An ETag identifies a snapshot and a query. A client that has the answer gets 304, and nothing is read.
//	W4  A URL has at most 8 KiB, and a pattern 1,000 bytes and 5,000 steps; in selectors, all patterns together have 16,384
//	    steps beside five for each byte, and those for types 1,000. All else is as in Q5.
//	W5  latest-1h is an hour before the snapshot's newest profile. So is -1h here, which elsewhere counts back
//	    from now, because a query of a commit must have one answer. Gauges are means, unless the sum is requested.
//
//	W6  States of samples are those of profile.DB.MergeByState, in the same snapshot. Samples without a state are in a
//	    group of their own or counted, and never dropped. Values of samples with states are sums, also for gauges.
//	W7  A query of a history costs what its pixels and rows do, and a visit of each attribute that fits the
//	    path. Summaries of queried histories are kept as long as snapshots are (W3), outside the
//	    memory budget: at most 5 % of the histories' bytes, and states that the summaries have and the store drops.
//
// # Tenants
//
//	/tenants/{NAME}/...     all paths of this text for the tenant NAME, but gRPC, whose paths begin at the host
//
//	T1  A tenant is named by the path, the header X-Scope-OrgID or a bound token (Tokens.Tenants), which must agree: 400, and 403
//	    if the token differs. Otherwise it is profile.Anonymous. Names are those of profile.CheckTenant. A path is clean.
//	T2  An answer equals the answer of a server with only the tenant's profiles and histories, but for numbers of commits
//	    and /metrics. A tenant without any has the answers of an empty store.
//	T3  A bound token reaches no other tenant, and not /metrics, which is about all of them.
//	T4  A push with rows makes the table of a new tenant, within Limits.Tenants (429) and if Options.Tenants takes it (403). Its limits
//	    there are its own; Limits and the budgets of the store are those of all tenants together.
//
// # Rules
//
//	R1  A counter of a rule is the sum of the rows in all intervals that have ended, from the one in which its rule or the server
//	    began. It equals a query for these intervals, late rows up to a day included, and does not fall when rows go. A gauge is the
//	    mean of each source in the last interval.
//	R2  An interval is read once after its end, and again if it got rows. Rows that come in other ways than by pushes count too. All
//	    rules read a type of values together. Reading is a query, with the limits of one.
//	R3  A rule that cannot be read keeps its values; GET /rules says why. Limits.Rules, RuleSeries and RuleValues bound them.
//	R4  A tenant posts rules for its own profiles alone. Values of other tenants than Anonymous have the label tenant, in /metrics,
//	    which is about all of them (T3).
//
// # Sources
//
//	S1  With Options.Sources or Options.Archives GET /api/v1/lines has text beside the lines of a function. No byte of a file outside of
//	    these directories is read, whatever a profile, an archive or a request names: neither "..", nor an absolute name, a link or a
//	    version leads out. An archive is read for its tenant alone, and for profiles of its version.
//	S2  Only text near lines that a profile of the query names is read, of regular files without a dot at the begin of a name.
//
// # Older profiles
//
// With Options.Older a server can read profiles that its store no longer has:
//
//	POST /older/{FROM}--{TO}/read   reads the profiles of a range into memory; the answer is lines of JSON about the progress
//	/older/{FROM}--{TO}/...         all queries and pages about them, as above, but gRPC, whose paths begin at the host
//
//	O1  An answer below the path equals the answer of a server with only the range's profiles, all of them. If they
//	    are not in memory, it is 409.
//	O2  One range is read at a time, and one is kept. It is dropped by the first request ten minutes after the last
//	    query about it, or when another is read. Requests for a range that is being read wait for it. If the client
//	    whose request reads it leaves, one of the others begins again.
//	O3  They take Limits.OlderBytes, and the memory that queries in progress still use of the previous range. A
//	    reading beyond that is an error, and nothing of it is kept. The memory of Options.Older itself is extra.
//	O4  Places for queries (Limits.Queries), tokens and counts are shared with the server. There are no pushes, metrics or
//	    health there. Older profiles are of the tenant Anonymous.
//
// # Opened files
//
//	POST /view       opens files of profiles or traces: multipart parts file, or before and after, each perhaps behind a part
//	                 modified, Unix milliseconds. The answer has the path of their page
//	/view/{ID}/...   all queries and pages about them, as above, but gRPC
//
//	V1  The files of a request are a store of their own. No query of others, and no tenant's data, has them. The path cannot
//	    be guessed, and is one of the tenant that opened them.
//	V2  All of them take Limits.ViewBytes, and at most 16 requests are kept. The ones that were not used for longest give
//	    way, unless within a minute (429). They are closed by the first request half an hour after the last query.
//	V3  Files take memory of pushes while they are read, and need the right to read. A file that is no profile and no
//	    trace is left out, and told; without any other the request fails. A front opens none (501).
//
// # Fronts
//
// A server of NewFront has nodes, which are servers of New of the same version, instead of a store.
//
//	F1  An answer equals the answer of one server with the profiles of all nodes. A profile is on one node.
//	F2  An answer that would not be exact is an error (unimplemented): all types at once, if two nodes have gauges.
//	    Rows (/arrow) and pushes are such errors too, which name the nodes, and so are the pages for profiles, the
//	    store, histories, states, commits, default types, and scaled sides.
//	F3  A node that is away is an error that names it (unavailable, 502). With Nodes.PartialAnswers the answer
//	    has a header Granary-Warning for each such node, and a profile a comment. An answer
//	    without any node is an error.
//	F4  Kinds on two nodes (profile.ErrMixed) are told apart by their names, and kinds without a name
//	    by their types.
//	F5  The front's limits hold, and each node's own. A node has three quarters of Limits.QueryTime, and
//	    Limits.ResultBytes; stacks of all nodes have Limits.QueryBytes.
//	F6  Nodes are asked for the tenant of the request.
//
// The package is a Go module of its own, so that the protocols' libraries stay out of the module graph of a
// program that embeds the store.
package server

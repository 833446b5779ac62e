package profile

import (
	"regexp"

	"github.com/granarydb/granary/columnstore"
	codec "github.com/granarydb/granary/profile/pprof"
)

// Query chooses profiles and samples. The zero Query chooses all. A Query is safe for concurrent use.
//
// A profile is chosen by its time, From: t, To: t+1, and a Selector for its labels. DB.Profiles lists the
// profiles. A trace or span is chosen by the Selector {trace_id="..."} or {span_id="..."}, with its id in
// lower or upper case. DB.InsertEncoded describes the spelling that is found fast.
type Query struct {
	// Selector chooses by label.
	Selector Selector
	// From and To bound the times of profiles in Unix nanoseconds: From <= time < To. Zero
	// means no bound.
	From, To int64
	// Function chooses the samples that have a function with a matching name in their stack, as in
	// Frame.Function of any frame. The pattern is not anchored; nil chooses all. It is matched once for
	// each distinct name. It costs 50 to 150 ns for each distinct stack in the query's generations, or
	// less if few series are left. Each generation has its own record of a location. If a location came
	// into a generation without symbols, in an Arrow record, its name is "<unknown>" here, even if other
	// generations have its symbols.
	Function *regexp.Regexp
	// Frames chooses the samples for whose stack all conditions hold. If there are any, a sample without
	// a stack is not chosen, as with -focus and -ignore of go tool pprof. A condition costs about as much
	// as Function, and 1 us for each distinct location. For a location that came into a generation
	// without symbols, the conditions see no symbols.
	Frames []FrameCondition
	// Hide and Show choose an answer's frames, as the options -hide and -show of go tool pprof do, by the
	// patterns of FrameCondition.Name. Frames that match Hide are removed. From the rest, only frames
	// that match Show are kept, and frames that have lines but no function. Show removes addresses
	// without lines. nil removes no frame. No query chooses samples without any frame left.
	//
	// Stacks that differ only in removed frames stay apart, as in pprof, and Stacks.Len counts each. A
	// Scan chooses the rows, but their stacks are complete. The cost is that of a condition, and of
	// decoding the answer's locations.
	Hide, Show *regexp.Regexp
	// Under chooses the samples whose outermost functions have these names, outermost first: the samples
	// of one call path, with its callees. Names are as in Frame.Function, in the frames that Hide and
	// Show keep. DB.Merge, MergeBy, MergeByState, Range and Profile choose these samples.
	// Other queries, the times of a Profile, and a Scan choose all samples that have the last of the
	// functions anywhere in their stack, as Function does. The cost is that of Function, and 20 ns for
	// each frame of the groups by stack, which a Range makes only for this.
	Under []string
	// Where chooses samples by their row: one more condition, on columns of Schema. The zero Expr chooses
	// all. It does not affect which profiles a gauge mean counts, nor answers about labels without Exact.
	Where columnstore.Expr
	// SumGauges adds up gauge values (Type.IsGauge). By default DB.Merge, MergeBy, Range and Profile
	// answer with gauge means: the mean over the times of a source's profiles, or with steps over
	// its times in a step, added up over the sources. A source is the profiles with equal labels,
	// apart from Options.Without. A
	// profile counts if the query selects its time and labels and it has a nonzero value of the type,
	// even if the query selects none of its samples. A stack is less than 1 from its mean, and the total
	// is rounded once. Means cost one more columnstore.Table.Aggregate, by time and labels, so that a
	// Merge takes three times as long (BenchmarkMergeGauges), and 120 bytes for each stack and number of times
	// if sources have different numbers.
	SumGauges bool
	// SumKinds adds up the values from profiles of several kinds (ProfileKind). By default DB.Merge,
	// MergeBy, MergeByState, Range and Profile return a MixedError if they would add up rows
	// of a type from several kinds. MergeBy and Range do not add up groups: by NameLabel,
	// each group has one name.
	SumKinds bool
	// Times, if not nil, has the numbers of times for gauge means, by source, instead of the profiles in
	// the store. Each profile in the store is then a sum over several times, as DB.SourceProfiles returns
	// them. It has no steps.
	Times *Times
	// NoSampleLabels makes DB.Profile omit the sample labels. Samples with the same stack are then one
	// sample. Other queries ignore it.
	NoSampleLabels bool
	// Exact makes DB.LabelNames, LabelValues and Series answer with the names, values and series of the
	// rows that the query selects. Without it they read almost no rows: bounds on time choose whole time
	// buckets, and conditions on samples are assumed to hold. Other queries are always exact.
	//
	// It costs one columnstore.Table.Aggregate by series: about 0.3 us for each series in a bucket within
	// the bounds on time, whatever its rows, and 3 to 10 ns for each row in a bucket that From or To
	// divides, or in all buckets with conditions on samples (BenchmarkExactLabels).
	Exact bool
	// MaxBytes bounds the accounted memory of an answer: its groups and their results. Beyond it the
	// error is columnstore.ErrQueryMemory. 0 or less means no bound. The bound applies to queries that
	// read rows, and to each read separately if a query needs two. It includes neither the results of an
	// answer's methods nor the stacks of DB.Profile.
	MaxBytes int64

	namer codec.Namer // of addresses, in the patterns above; set by DB.Resolve
}

// FrameCondition is a condition on a stack's frames: one frame must match all fields that are set.
// Patterns are not anchored; nil is not set. A FrameCondition without any field holds for every stack
// with a frame.
type FrameCondition struct {
	// Not reverses the condition: no frame matches all fields that are set.
	Not bool
	// Name matches the function's name or file, or the mapping's file, as the options -focus and -ignore
	// of go tool pprof do. Here the name of a function without a name is "".
	Name *regexp.Regexp
	// Function matches Frame.Function, File matches Frame.File.
	Function, File *regexp.Regexp
	// Mapping and BuildID match the fields of the frame's Location.
	Mapping, BuildID *regexp.Regexp
	// From and To bound the address of the frame's Location: From <= Address < To. Zero means
	// no bound.
	From, To uint64
}

// Expr returns the query as a condition on rows. If types are given, the rows must have one of them. The
// condition is safe for concurrent use.
func (q Query) Expr(types ...Type) columnstore.Expr {
	c := q.compile(nil)
	return c.rows(types)
}

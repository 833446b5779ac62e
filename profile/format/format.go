package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/foreign"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/trace/golang"
)

// Of returns the format, other than pprof, of an input by its first bytes, gzipped or not, and "" for others. A format that
// bytes do not tell is that of Only, if the bytes can be in it.
func (h Hints) Of(data []byte) Name {
	head := headOf(data)
	for _, f := range named {
		if f.name == h.Only && f.is(head) {
			return f.name
		}
	}
	for _, f := range formats {
		if f.is(head) {
			return f.name
		}
	}
	return ""
}

// format is a format that Decode knows.
type format struct {
	name Name
	// is reports whether the first decompressed bytes of an input have the format.
	is     func(head []byte) bool
	decode func(data []byte, h Hints) iter.Seq2[Decoded, error]
}

// one returns the decoder of a format with one profile in an input.
func one(parse func(data []byte, h Hints) (*pprof.Profile, error)) func([]byte, Hints) iter.Seq2[Decoded, error] {
	return func(data []byte, h Hints) iter.Seq2[Decoded, error] {
		return func(yield func(Decoded, error) bool) {
			p, err := parse(data, h)
			yield(Decoded{Parsed: p}, err)
		}
	}
}

// formats are detected by content. Other bytes are taken for pprof, because its decoder says what is
// wrong with them.
var formats = []format{
	{Folded, isFolded, one(counted(parseFolded))},
	{Debug1, isDebug1, decodeDebug1},
	{Debug2, isDebug2, one(parseDebug2)},
	{PerfScript, isPerfScript, one(parsePerfScript)},
	{Speedscope, isSpeedscope, one(parseSpeedscope)},
	{Jemalloc, isJemalloc, one(parseJemalloc)},
	{JFR, isJFR, decodeJFR},
	{Gperftools, foreign.IsLegacyCPU, one(parseGperftools)},
	{OTLP, isOTLP, decodeOTLP},
	{GoTrace, golang.Magic, decodeGoTrace},
}

// named are formats that a sender has to name. Here `is` reports whether bytes can have the format.
var named = []format{
	{Folded, isText, one(counted(parseFolded))},
	{StackGroups, isText, one(counted(parseFolded))},
	{StackLines, isText, one(counted(parseLines))},
	{StackTrie, isTree, one(counted(parseTrie))},
	{StackTree, isTree, one(counted(parseTree))},
}

// allFormats are both.
var allFormats = slices.Concat(formats, named)

// Names returns the names of all formats.
func Names() []string {
	names := []string{string(PPROF)}
	for _, f := range allFormats {
		if name := string(f.name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Of is Hints.Of without hints.
func Of(data []byte) Name { return Hints{}.Of(data) }

// IsGroups reports whether all of the first lines of a text, compressed or not, are folded stacks. Of wants a semicolon too.
func IsGroups(data []byte) bool { return isGroups(headOf(data)) }

// Insert decodes an input and inserts its profiles in one transaction: all of them, or none after an error. Errors are those of
// InsertTx and of the commit.
func Insert(ctx context.Context, db *profile.DB, data []byte, h Hints, opts profile.InsertOptions) (rows int, err error) {
	if opts.Subtracted == nil {
		opts.Subtracted = new(profile.Subtraction)
	}
	tx := db.Store().Begin()
	if rows, err = InsertTx(ctx, db, tx, data, h, opts); err != nil {
		tx.Abort()
	} else if _, err = tx.Commit(); err == nil {
		return rows, nil
	}
	if !errors.Is(err, columnstore.ErrNotDurable) { // the rows are visible
		opts.Subtracted.Drop()
	}
	return 0, err
}

// InsertTx decodes an input and inserts its profiles in a transaction of the caller, to be aborted after an error. Errors are as for
// Decode and of DB.InsertEncodedTx. InsertOptions.Deltas applies to formats of profiles that can count from the start of a
// process, which have one profile.
func InsertTx(ctx context.Context, db *profile.DB, tx *columnstore.Tx, data []byte, h Hints, opts profile.InsertOptions) (rows int, err error) {
	data, h, err = identified(data, h)
	if err != nil {
		return 0, err
	}
	if !h.Is.IsCumulative() {
		opts.Deltas = nil
	}
	for p, err := range Decode(data, h) {
		n := 0
		if err == nil {
			n, err = p.InsertTx(ctx, db, tx, opts)
		}
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

// IsCumulative reports whether values of the format can count from the start of a process. Values of other formats are of a period.
func (n Name) IsCumulative() bool { return n == PPROF || n == Debug1 || n == Jemalloc }

// identified returns an input that was in zstd decompressed, and hints with its format and all limits.
func identified(data []byte, h Hints) ([]byte, Hints, error) {
	h.Limits = h.Limits.WithDefaults()
	if IsZstd(data) {
		var err error
		if data, err = inflated(data, h.Limits); err != nil {
			return nil, h, err
		}
	}
	if h.Is == "" && h.Only != PPROF {
		h.Is = h.Of(data)
	}
	h.Is = cmp.Or(h.Is, PPROF)
	return data, h, nil
}

// Decode returns an input's profiles. An error is the last element. data is not changed, and must not
// change while the decoded profiles are in use.
func Decode(data []byte, h Hints) iter.Seq2[Decoded, error] {
	data, h, err := identified(data, h)
	if err != nil {
		return failed(err)
	}
	for _, f := range allFormats {
		if f.name == h.Is && (h.Only == "" || h.Only == h.Is) {
			return f.decode(data, h)
		}
	}
	if h.Only != "" && h.Only != PPROF {
		return failed(fmt.Errorf("%w: it is not in the format %s", profile.ErrProfile, h.Only))
	}
	if of := Of(data); h.Only == PPROF && of != "" && of != OTLP { // whose bytes pprof can have
		return failed(fmt.Errorf("%w: it is not in the format %s but in %s: name that, or none", profile.ErrProfile, h.Only, of))
	}
	return decodePPROF(data)
}

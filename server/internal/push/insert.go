package push

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
	"github.com/granarydb/granary/server/otlp"
	"github.com/granarydb/granary/trace/golang"
)

// KeyHeader names a push.
const KeyHeader = "X-Idempotency-Key"

// maxID bounds the bytes of an id. A UUID has 36.
const maxID = 200

// push is a request's profiles.
type push struct {
	tenant   string
	key      string // names the request; empty if it has no name
	profiles []pushed
	// isPartial omits refused profiles instead of refusing all.
	isPartial bool
}

// pushed is a profile of a request, encoded or in memory.
type pushed struct {
	where  string // place in the request, for errors
	labels map[string]string
	id     string // names the profile; empty if it has no name
	config
	time time.Time // for a profile without a time; zero means now
	format.Decoded
	only format.Name       // what Encoded is; "" is known by its content
	jfr  *format.JFRLabels // of Encoded; nil: none
	size int               // bytes as it was sent
}

// outcome is a push's result.
type outcome struct {
	rows    int
	refused []error // errors of the omitted profiles of a partial push
	counted counted
}

// newPush returns an empty push with the tenant of a request and the key from its headers.
func newPush(ctx context.Context, h http.Header) (*push, error) {
	p := &push{tenant: web.CallerOf(ctx).Tenant, key: h.Get(KeyHeader)}
	switch {
	case len(p.key) > maxID:
		return nil, fault.Invalid("header %s has %d bytes, at most %d", KeyHeader, len(p.key), maxID)
	case !utf8.ValidString(p.key) || strings.ContainsFunc(p.key, isNotPrinted):
		return nil, fault.Invalid("header %s: %s is not printable UTF-8", KeyHeader, fault.Quoted(p.key))
	}
	return p, nil
}

// take reads a push with a request's headers, and inserts it.
func (s *Pusher) take(ctx context.Context, h http.Header, read func(*push) error) (outcome, error) {
	p, err := newPush(ctx, h)
	if err == nil {
		err = read(p)
	}
	if err != nil {
		return outcome{}, err
	}
	return s.insert(ctx, p)
}

// insert commits a push's profiles in one transaction, except profiles whose id was pushed before. After
// an error nothing was inserted, with one exception: after disk.ErrNotDurable everything was, and the ids
// count as pushed. A repetition is answered once they are durable.
func (s *Pusher) insert(ctx context.Context, p *push) (outcome, error) {
	if len(p.profiles) > s.Limits.Profiles {
		return outcome{}, fault.TooLarge("%d profiles in a request, at most %d", len(p.profiles), s.Limits.Profiles)
	}
	in := &insertion{s: s, push: p, share: shareOf(ctx)}
	if err := cmp.Or(in.share.err, in.check()); err != nil {
		return outcome{}, err
	}
	isNew, err := in.claim(ctx)
	committed := false
	defer func() { in.release(committed) }()
	if err != nil {
		return outcome{}, err
	}
	if !isNew {
		s.Counts.Duplicates.Add(float64(len(p.profiles)))
		return outcome{}, s.awaitDurable(ctx, p.tenant) // a commit waits for those before it
	}
	err = in.commit(ctx)
	s.note(err)
	committed = err == nil || errors.Is(err, disk.ErrNotDurable)
	if !committed {
		s.tenants.withdraw(in.series)
		for _, since := range slices.Backward(in.since) {
			since.Drop()
		}
		return outcome{}, err
	}
	s.Counts.Profiles.Add(float64(in.inserted))
	s.Counts.Duplicates.Add(float64(in.duplicates))
	s.Counts.Rows.Add(float64(in.rows))
	s.Counts.Received.Add(float64(in.bytes))
	return in.outcome, err
}

// insertion is a push on its way into a transaction.
type insertion struct {
	*push
	s     *Pusher
	db    *profile.DB // of the tenant
	tx    *columnstore.Tx
	share *share

	labels  []map[string]string // labels of each profile; nil for a refused profile
	claimed []hash
	done    map[hash]bool // ids pushed before, or by this push so far
	series  []series      // new with this push
	since   []profile.Subtraction

	outcome
	inserted, duplicates, bytes int
}

// check checks the labels and ids of the profiles.
func (in *insertion) check() error {
	in.labels = make([]map[string]string, len(in.profiles))
	for i := range in.profiles {
		p := &in.profiles[i]
		p.isDelta = p.isDelta || p.labels[deltaLabel] == "false"
		labels, err := in.s.pushedLabels(p.labels)
		if err == nil && len(p.id) > maxID {
			err = fault.Invalid("an id of %d bytes, at most %d", len(p.id), maxID)
		}
		if err != nil {
			if err := in.refuse(p, err); err != nil {
				return err
			}
			continue
		}
		in.labels[i] = labels
	}
	return nil
}

// refuse omits a profile because of err, or returns err if the whole push is refused.
func (in *insertion) refuse(p *pushed, err error) error {
	err = fault.At(p.where, err)
	switch status := fault.CauseOf(err).Status; {
	case !in.isPartial, status >= http.StatusInternalServerError,
		status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge:
		return err
	}
	in.refused = append(in.refused, err)
	return nil
}

// claim claims the push's ids. It returns false if the whole push was done before.
func (in *insertion) claim(ctx context.Context) (bool, error) {
	claim := func(id hash) (bool, error) {
		mine, err := in.s.ids.claim(ctx, id)
		if mine {
			in.claimed = append(in.claimed, id)
		}
		return mine, err
	}
	in.done = map[hash]bool{}
	if in.key != "" {
		request := hashOf("request", in.tenant, in.key)
		if mine, err := claim(request); !mine || err != nil {
			return false, err
		}
		in.done[request] = true
	}
	var wanted []hash
	for i := range in.profiles {
		if p := &in.profiles[i]; p.id != "" && in.labels[i] != nil {
			wanted = append(wanted, in.idOf(p))
		}
	}
	slices.SortFunc(wanted, func(a, b hash) int { return slices.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(wanted) {
		mine, err := claim(id)
		if err != nil {
			return false, err
		}
		in.done[id] = !mine
	}
	return true, nil
}

// release ends the claims. Ids of omitted profiles can be pushed again.
func (in *insertion) release(committed bool) {
	for _, id := range in.claimed {
		in.s.ids.release(id, committed && in.done[id])
	}
}

func (in *insertion) idOf(p *pushed) hash { return hashOf("profile", in.tenant, p.id) }

// commit inserts the profiles and commits the transaction.
func (in *insertion) commit(ctx context.Context) error {
	done, err := in.open(ctx) // here, because a refused or repeated push needs no table and no transaction
	if err != nil {
		return err
	}
	defer done()
	in.tx = in.db.Store().Begin()
	ended := false
	defer func() {
		if !ended { // after an error or a panic
			in.tx.Abort()
		}
	}()
	for i := range in.profiles {
		p := &in.profiles[i]
		if in.labels[i] == nil {
			continue
		}
		if p.id != "" && in.done[in.idOf(p)] {
			in.duplicates++
			continue
		}
		rows, err := in.add(ctx, p, in.labels[i])
		if err != nil {
			if err := in.refuse(p, err); err != nil {
				return err
			}
			continue
		}
		if p.id != "" {
			in.done[in.idOf(p)] = true
		}
		in.inserted++
		in.rows += rows
		in.bytes += p.size
	}
	ended = true
	_, err = in.tx.Commit()
	return err
}

// add inserts a profile, or the profiles of a recording, into the transaction.
func (in *insertion) add(ctx context.Context, p *pushed, labels map[string]string) (rows int, err error) {
	defer func(used int64) { in.share.used = used }(in.share.used) // what the share holds by then is free for the next profile
	for sent, err := range in.read(p) {
		n := 0
		if err == nil {
			n, err = in.addOne(ctx, p, &sent, labels)
		}
		if err != nil {
			return 0, err
		}
		rows += n
	}
	return rows, nil
}

// addOne inserts a decoded profile. It counts its series if it has rows.
func (in *insertion) addOne(ctx context.Context, p *pushed, sent *format.Decoded, labels map[string]string) (rows int, err error) {
	s := in.s
	if sent.Labels != nil {
		own := maps.Clone(sent.Labels)
		for name, value := range labels {
			if name != serviceLabel || value != unknownService {
				own[name] = value
			}
		}
		if labels, err = s.pushedLabels(own); err != nil {
			return 0, err
		}
		sent.Labels = nil
	}
	if labels[profile.NameLabel] == "" {
		if name := s.nameOf(sent, p.hint); name != "" {
			labels = maps.Clone(labels)
			labels[profile.NameLabel] = name
		}
	}
	of := seriesOf(in.tenant, labels)
	isNew, err := s.tenants.admit(of)
	if err != nil {
		return 0, err
	}
	opts := profile.InsertOptions{Labels: labels, Time: p.time, Retime: true}
	if p.time.IsZero() {
		opts.Time, opts.Retime = s.Now(), false // a time of another unit may be of any day
	}
	var since profile.Subtraction
	if !p.isDelta {
		opts.Deltas, opts.Sender, opts.FirstWhole, opts.Subtracted = s.Deltas, profile.TenantName(in.tenant, ""), s.FirstWhole, &since
	}
	rows, err = sent.InsertTx(ctx, in.db, in.tx, opts)
	if since.Counted != profile.CountedAsSent {
		in.since = append(in.since, since)
		in.counted.add(since)
	}
	switch {
	case isNew && rows > 0:
		in.series = append(in.series, of)
	case isNew:
		s.tenants.withdraw([]series{of})
	}
	return rows, err
}

// read decompresses and decodes a profile as it was sent. pprof stays encoded. The memory that its insert takes
// is taken from the share before. An error is the last element.
func (in *insertion) read(p *pushed) iter.Seq2[format.Decoded, error] {
	return func(yield func(format.Decoded, error) bool) {
		data, err := in.share.inflate(p.Encoded, in.s.Limits.Profile.Bytes)
		h := format.Hints{
			Only: p.only, Is: format.PPROF, Limits: in.s.Limits.Profile, Take: in.share.take,
			JFR: p.jfr, Sampling: p.sampling, OTLP: otlp.Options{Take: in.share.take}.Decode,
		}
		factor := int64(insertFactor)
		if err == nil && p.Parsed == nil && p.only != format.PPROF {
			switch of := h.Of(data); of {
			case "":
			case format.OTLP:
				h.Is, factor = of, 1 // it takes more by itself
			case format.GoTrace:
				if h.Is, factor = of, traceFactor; golang.IsWhole(data) {
					factor = parsedFactor
				}
			default:
				h.Is, factor = of, parsedFactor
			}
		}
		p.isDelta = p.isDelta || p.Parsed != nil || !h.Is.IsCumulative() // a profile of OTLP is of its duration
		if err == nil {
			err = in.share.take(factor*int64(len(data)) + flatBytes(p.Parsed))
		}
		if err != nil || p.Parsed != nil {
			yield(format.Decoded{Parsed: p.Parsed}, err)
			return
		}
		for one, err := range format.Decode(data, h) {
			if err == nil && (h.Is == format.JFR || h.Is == format.OTLP || h.Is == format.GoTrace) { // whose samples share stacks
				err = in.share.take(flatBytes(one.Parsed))
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// flatBytes returns the additional bytes that the samples of a profile in memory take while it is
// inserted.
func flatBytes(p *pprof.Profile) (bytes int64) {
	if p != nil {
		for _, s := range p.Sample {
			bytes += web.MessageBytes + int64(len(s.Location))*locationBytes
		}
	}
	return bytes
}

// nameOf returns the label __name__ of a profile that is pushed without one, or "". The profile is not gzipped.
func (s *Pusher) nameOf(p *format.Decoded, hint string) string {
	if p.Kind != "" {
		return s.mend(p.Kind)
	}
	var types []string
	var period string
	if p.Parsed != nil {
		for _, t := range p.Parsed.SampleType {
			types = append(types, t.Type)
		}
		if p.Parsed.PeriodType != nil {
			period = p.Parsed.PeriodType.Type
		}
	} else {
		types, period = typesOf(p.Encoded)
	}
	return s.mend(kindOf(types, period, hint))
}

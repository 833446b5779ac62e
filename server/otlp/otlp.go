package otlp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// Options bound what is decoded. The zero value has the defaults.
type Options struct {
	// Limits bound each profile. Only Samples matters.
	Limits profile.Limits
	// Take reserves memory before it is used, or returns an error. nil reserves at most 1 GiB.
	Take func(bytes int64) error
}

// maxBytes is the memory that a file takes at most.
const maxBytes = 1 << 30

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.WithDefaults()
	if o.Take == nil {
		used := int64(0)
		o.Take = func(bytes int64) error {
			if used += bytes; used > maxBytes {
				return fault.TooLarge("%d bytes of memory for profiles of OTLP", maxBytes)
			}
			return nil
		}
	}
	return o
}

// Profile is a profile of a request. Its labels are the attributes of its resource and its own. A resource's service.name is
// also the label service_name.
type Profile struct {
	format.Decoded
	ID    string // in hexadecimal digits, or ""
	Size  int    // bytes of its message
	Where string // in the request
}

// Profiles returns the profiles of a request. An error is that of one profile, of which only Where is set.
func (o Options) Profiles(r *collectorv1.ExportProfilesServiceRequest) iter.Seq2[Profile, error] {
	return func(yield func(Profile, error) bool) {
		d := newDictionary(r.GetDictionary(), o.withDefaults())
		for i, resource := range r.GetResourceProfiles() {
			labels, wrong := d.labels(resource.GetResource().GetAttributes())
			for j, scope := range resource.GetScopeProfiles() {
				for k, from := range scope.GetProfiles() {
					var p Profile
					err := wrong
					if err == nil {
						p, err = d.profile(from, labels)
					}
					if err != nil {
						p = Profile{}
					}
					p.Where = fmt.Sprintf("resource %d, scope %d, profile %d", i, j, k)
					if !yield(p, err) {
						return
					}
				}
			}
		}
	}
}

// Decode returns the profiles of a file, which is not compressed: the message ProfilesData or ExportProfilesServiceRequest,
// whose fields are the same, in protobuf of versions 1.6 to 1.11 of the protocol, or in JSON. limits are used instead of
// o.Limits. An error is the last element. It wraps profile.ErrProfile or profile.ErrTooLarge.
func (o Options) Decode(data []byte, limits profile.Limits) iter.Seq2[format.Decoded, error] {
	return func(yield func(format.Decoded, error) bool) {
		o := Options{Limits: limits, Take: o.Take}.withDefaults()
		r, err := o.read(data)
		for p, wrong := range o.Profiles(r) {
			if err != nil {
				break
			}
			if wrong != nil {
				err = fault.At(p.Where, wrong)
			} else if !yield(p.Decoded, nil) {
				return
			}
		}
		switch {
		case errors.Is(err, fault.ErrLimit):
			yield(format.Decoded{}, fmt.Errorf("%w: OTLP: %w", profile.ErrTooLarge, err))
		case err != nil:
			yield(format.Decoded{}, fmt.Errorf("%w: OTLP: %w", profile.ErrProfile, err))
		}
	}
}

// read decodes the message of a file. The message is empty after an error.
func (o Options) read(data []byte) (r *collectorv1.ExportProfilesServiceRequest, err error) {
	var busy error
	codec := web.ProtoCodec{
		Most: 2 * o.Limits.Samples, Mended: func(int) {}, Upgrade: Upgrade,
		Take: func(bytes int64) error {
			busy = cmp.Or(busy, o.Take(bytes))
			return busy
		},
	}
	r = &collectorv1.ExportProfilesServiceRequest{}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		err = web.JSONCodec(codec).Unmarshal(data, r)
	} else {
		err = codec.Unmarshal(data, r)
	}
	if err = cmp.Or(busy, err); err != nil {
		r = nil
	}
	return r, err
}

// Upgrade returns an encoded request in the numbering of versions 1.10 and 1.11 of the protocol. It returns a request in
// that numbering, and bytes that are none, as they are. take reserves memory.
func Upgrade(request []byte, take func(bytes int64) error) ([]byte, error) {
	of := numberingOf(request)
	switch of {
	case v17:
		if err := take(oldFactor * int64(len(request))); err != nil {
			return nil, err
		}
		return upgradeOld(request)
	case v18, v19:
	default:
		return request, nil
	}
	if err := take(int64(len(request))); err != nil {
		return nil, err
	}
	path := []protowire.Number{fieldResources, fieldScopes, fieldProfiles}
	if out, ok := rewritten(request, path, func(profile []byte) ([]byte, bool) { return renumbered(profile, of) }); ok {
		return out, nil
	}
	return request, nil
}

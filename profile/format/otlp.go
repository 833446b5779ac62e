package format

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"regexp"
	"strings"

	"github.com/granarydb/granary/profile"
)

// otlpJSON matches the beginning of a request in JSON.
var otlpJSON = regexp.MustCompile(`^\s*\{\s*"(resourceProfiles|resource_profiles|dictionary)"\s*:`)

// otlpTags are what the fields at the beginning of a request may be, each in the one before: a resource's profiles; the resource,
// or profiles of a scope; and an attribute, a scope or a profile. In a profile of pprof the first field is a type, whose fields
// are numbers.
var otlpTags = []string{"\x0a", "\x0a\x12", "\x0a\x12\x1a"}

// isOTLP reports whether head begins with a resource's profiles.
func isOTLP(head []byte) bool {
	if otlpJSON.Match(head) {
		return true
	}
	room := uint64(math.MaxInt64)
	for i, tags := range otlpTags {
		if len(head) < 2 || strings.IndexByte(tags, head[0]) < 0 {
			return false
		}
		size, n := binary.Uvarint(head[1:])
		used := uint64(1 + n)
		if n <= 0 || used > room || size > room-used || size == 0 && i == 0 {
			return false
		}
		head, room = head[used:], room-used
		if size > 0 { // an empty resource is followed by profiles
			room = size
		}
	}
	return true
}

// decodeOTLP returns the profiles of OpenTelemetry.
func decodeOTLP(data []byte, h Hints) iter.Seq2[Decoded, error] {
	if h.OTLP == nil {
		return failed(fmt.Errorf("%w: it has profiles of OpenTelemetry (OTLP), which are not read here", profile.ErrProfile))
	}
	data, err := inflated(data, h.Limits)
	if err != nil {
		return failed(err)
	}
	return h.OTLP(data, h.Limits)
}

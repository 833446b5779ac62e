package format

import (
	"bytes"
	"fmt"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/internal/foreign"
	"github.com/granarydb/granary/profile"
)

// Bounds of a profile of gperftools. The library looks for the mapping of each address among all mappings.
const (
	maxLegacyFrames = 4 << 20
	maxLegacyWork   = 1 << 30 // addresses times mappings
)

// parseGperftools returns the CPU profile that gperftools writes: words of 4 or 8 bytes, in either order, and the mappings of
// the process as text. Its addresses have no functions.
func parseGperftools(data []byte, h Hints) (p *pprof.Profile, err error) {
	if data, err = inflated(data, h.Limits); err == nil {
		err = boundLegacy(data, h.Limits)
	}
	if err == nil {
		if p, err = pprof.ParseData(data); err != nil {
			err = invalid(err.Error())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("CPU profile of gperftools: %w", err)
	}
	return p, nil
}

// boundLegacy checks a profile against limits before the library reads it.
func boundLegacy(data []byte, limits profile.Limits) error {
	size, order := foreign.LegacyWords(data)
	if size == 0 {
		return invalid("want its header")
	}
	word := func() (n uint64, ok bool) {
		if len(data) < size {
			return 0, false
		}
		if size == 4 {
			n = uint64(order.Uint32(data))
		} else {
			n = order.Uint64(data)
		}
		data = data[size:]
		return n, true
	}
	for range 5 { // the header
		word()
	}
	samples, frames := 0, 0
	for len(data) > 0 { // a profile without an end is whole too
		count, _ := word()
		depth, ok := word()
		switch {
		case !ok || depth > uint64(len(data)/size):
			return invalid(fmt.Sprintf("sample %d is cut off", samples))
		case depth > uint64(limits.Depth):
			return fmt.Errorf("%w: a stack of %d addresses, at most %d", profile.ErrTooLarge, depth, limits.Depth)
		}
		isEnd := count == 0 && depth == 1 && len(bytes.Trim(data[:size], "\x00")) == 0
		data = data[int(depth)*size:]
		if isEnd {
			break
		}
		samples++
		frames += int(depth)
		if samples > limits.Samples || frames > maxLegacyFrames {
			return fmt.Errorf("%w: more than %d samples, or more than %d addresses in all", profile.ErrTooLarge, limits.Samples, maxLegacyFrames)
		}
	}
	if lines := bytes.Count(data, []byte("\n")) + 1; frames > maxLegacyWork/lines {
		return fmt.Errorf("%w: %d addresses and %d mappings", profile.ErrTooLarge, frames, lines)
	}
	return nil
}

package chrome

import "github.com/granarydb/granary/internal/tracks"

// stamp is a time or a duration: whole nanoseconds, and parts of a nanosecond, of which it has a million.
type stamp struct {
	nanos int64
	parts uint32
}

// beyond is a stamp out of bounds.
const beyond = tracks.MaxTime + 1

const partsPerNano = 1_000_000

// parseStamp reads a number of microseconds exactly, and cuts off what is less than a part. It reports false for other text.
func parseStamp(b []byte) (stamp, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	point, exponent, ok := layout(b)
	if !ok {
		return stamp{}, false
	}
	var s stamp
	at, last := 0, point+exponent+3 // places of decimals: up to last nanoseconds, then parts
	for _, c := range b {
		if c == '.' {
			continue
		}
		if c|' ' == 'e' || at >= last+6 {
			break
		}
		s.add(at < last, c-'0')
		at++
	}
	for ; at < last+6; at++ {
		if at < last && (s.nanos == 0 || s.nanos == beyond) {
			at = last - 1 // no digit changes it
			continue
		}
		s.add(at < last, 0)
	}
	if negative {
		s.nanos = -s.nanos
		if s.parts > 0 {
			s.nanos--
			s.parts = partsPerNano - s.parts
		}
	}
	return s, true
}

// add adds a digit.
func (s *stamp) add(isWhole bool, digit byte) {
	if !isWhole {
		s.parts = 10*s.parts + uint32(digit)
		return
	}
	if s.nanos > tracks.MaxTime/10 {
		s.nanos = beyond
		return
	}
	s.nanos = 10*s.nanos + int64(digit)
}

// layout returns the number of digits before the point, and the exponent, of an unsigned number.
func layout(b []byte) (point, exponent int, ok bool) {
	point = -1
	digits := 0
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && point < 0:
			point = digits
		case c|' ' == 'e' && digits > 0:
			if point < 0 {
				point = digits
			}
			exponent, ok = parseExponent(b[i+1:])
			return point, exponent, ok
		default:
			return 0, 0, false
		}
	}
	if point < 0 {
		point = digits
	}
	return point, 0, digits > 0
}

// parseExponent reads an exponent. One of more than four digits is as good as infinite.
func parseExponent(b []byte) (int, bool) {
	sign := 1
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(10*n+int(c-'0'), 1_000_000)
	}
	return sign * n, len(b) > 0
}

// plus returns the nanoseconds of a sum.
func (s stamp) plus(d stamp) int64 {
	if s.nanos == beyond || d.nanos == beyond {
		return beyond
	}
	return s.nanos + d.nanos + int64((s.parts+d.parts)/partsPerNano)
}

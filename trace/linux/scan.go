package linux

import (
	"math"
)

// Parts of lines, read without regular expressions and without a copy.

// digits reads the decimal number at the begin of b. It returns the number of its digits, 0 if there is none or it is
// beyond int64.
func digits(b []byte) (n int64, size int) {
	for size < len(b) && b[size]-'0' <= 9 {
		if n > math.MaxInt64/10-1 { // one that is that near to the limit is beyond all bounds of the package
			return 0, 0
		}
		n = n*10 + int64(b[size]-'0')
		size++
	}
	return n, size
}

// integer reads all of b as a whole number: decimal, or of base 16 or 8 as in C.
func integer(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	n, size := digits(b)
	if len(b) > 1 && b[0] == '0' {
		n, size = based(b)
	}
	if negative {
		n = -n
	}
	return n, size == len(b) && size > 0
}

// based reads 0x1f and 017. It returns a size of 0 for what is no such number, or beyond int64.
func based(b []byte) (n int64, size int) {
	base, from := int64(8), 1
	if b[1]|0x20 == 'x' {
		base, from = 16, 2
	}
	for _, c := range b[from:] {
		d := base
		switch {
		case c-'0' <= 9:
			d = int64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = int64(c|0x20-'a') + 10
		}
		if d >= base || n > (math.MaxInt64-d)/base {
			return 0, 0
		}
		n = n*base + d
	}
	if len(b) == from && base == 16 {
		return 0, 0
	}
	return n, len(b)
}

// nanoseconds are the digits behind the point of a number of seconds, as ns. Digits behind the ninth are dropped.
func nanoseconds(b []byte) (int64, bool) {
	n, size := digits(b[:min(len(b), 9)])
	if size == 0 {
		return 0, false
	}
	for i := size; i < 9; i++ {
		n *= 10
	}
	for size < len(b) && b[size]-'0' <= 9 {
		size++
	}
	return n, size == len(b)
}

// seconds reads a time as seconds with a fraction, such as 1234.567890, as ns.
func seconds(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	s, size := digits(b)
	if size == 0 || size == len(b) || b[size] != '.' || s > math.MaxInt64/1_000_000_000-1 {
		return 0, false
	}
	ns, ok := nanoseconds(b[size+1:])
	ns += s * 1e9
	if negative {
		ns = -ns
	}
	return ns, ok
}

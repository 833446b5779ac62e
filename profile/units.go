package profile

import "github.com/granarydb/granary/profile/figures"

// FormatValue formats value, measured in unit, for people to read.
//
// Times ("nanoseconds", "microseconds", "milliseconds", "seconds") are printed as ns, us, ms,
// s, min or h. "bytes" are printed as B, KiB, MiB and so on, in steps of 1024. Both have up to
// three significant digits, or all digits before the point if these are more. The unit is the
// largest that leaves the number at one or more: "1.23 s", "4.5 MiB". A "count" is the exact
// number with thousands separators: "1,234". Any other unit is the exact number followed by
// the unit, and an empty unit is the number alone.
func FormatValue(value int64, unit string) string { return figures.Of(value, unit) }

// Package granary is the root of an embeddable column store for profiling data.
// It holds no code: package columnstore is the store, package profile keeps
// profiles in it, command granary is both from a shell. README.md shows them at
// work, ARCHITECTURE.md is the map.
package granary

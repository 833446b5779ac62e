// Package replay makes many profiles from one: it keeps the encoding of a profile, appends it with other
// times and values, and saves it in a folder named after its labels. The demo's fleet consists of such
// profiles.
package replay

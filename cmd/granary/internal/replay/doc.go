// Package replay makes many profiles of one: it keeps the encoding of a profile, and appends it with other times and
// values, and saves it in a folder named after its labels. The demo's fleet is made of them.
package replay

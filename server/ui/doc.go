// Package ui is the web page of a server: its files, and the handlers that serve them.
//
// The sources are in src (TypeScript), vendor (libraries of others, unchanged, with their licences) and vendor.sha256.
// go generate bundles them into dist, which is committed, so that a build needs neither Node.js nor a network. The
// module in compat does that (browser/build), and tests the page in Chromium (browser). The page has two scripts: the first
// one asks the question of a link to a flame graph while the browser reads the other one.
//
// Invariants:
//
//  1. dist is what go generate makes of src and vendor: the same bytes in every folder and on every machine.
//  2. Each file but index.html has a hash of its content in its name, so it never changes and is kept forever.
//  3. The page asks nobody but its own server, by addresses relative to its own: it works below any path.
//  4. Nothing in the page becomes HTML or code: the headers forbid inline scripts, styles, and Trusted Types.
package ui

//go:generate sh -c "cd ../../compat && GOWORK=off go run ./browser/build"

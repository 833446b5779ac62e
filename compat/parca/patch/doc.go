// Package patch has the tests of Parca's own binary with Granary as its store. parca.patch is the patch of Parca
// v0.28.0, 41 lines of pkg/parca/parca.go. patch.run, beside this folder, applies it to a copy of Parca's module,
// builds the binary, runs Parca's own tests on Granary (package standin), and then these tests.
//
// They are skipped without a binary: go test ./patch -parca.binary PATH.
package patch

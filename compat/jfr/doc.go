// Package jfr compares the profiles of recordings of Java with those of Pyroscope's decoder, over the recordings that come with
// it. It consists of tests, so that programs that embed the store do not depend on that decoder.
package jfr

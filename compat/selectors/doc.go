// Package selectors compares the parser of selectors with Prometheus' own. It consists of tests, in a
// separate module, so that programs that embed the store do not depend on Prometheus.
package selectors

//go:build !race

package damaged

const slower = 1

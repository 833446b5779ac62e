//go:build !linux && !darwin && !freebsd

package cli

import "os"

// terminalColumns returns 0: the columns of a terminal are not known.
func terminalColumns(*os.File) int { return 0 }

//go:build !linux && !darwin && !freebsd

package cli

import "os"

// terminalColumns returns 0, because the columns of a terminal are unknown.
func terminalColumns(*os.File) int { return 0 }

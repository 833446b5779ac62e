package node

import (
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/serve"
)

// Tier is a command that serves as granary serve does, and keeps the rows of the store elsewhere too.
type Tier = serve.Tier

// Opened is what a Tier is attached to.
type Opened = serve.Opened

// Attached is a Tier that was attached to a server.
type Attached = serve.Attached

// Beside are the files and folders of a directory that requests make beside those of the store, but for the backup, and the last values of
// cumulative profiles.
var Beside = serve.Beside

// NewServe returns the command of a tier. It has the flags of granary serve, but for those of a store in memory and of a front. The
// command can run once.
func NewServe(t Tier) *cobra.Command { return serve.NewTier(t) }

// IsUsage reports whether an error of the command says that it was called in a wrong way.
func IsUsage(err error) bool { return cli.IsUsage(err) }

// ReadToken reads a file with one token. It returns "" if name is "". Errors name the flag.
func ReadToken(flag, name string) (string, error) { return cli.ReadToken(flag, name) }

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// NewVersion returns the command version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `version prints the version of granary that the Go toolchain recorded, the commit
of the build, the Go version and the platform. go install records no commit: the
version is its tag.`,
		Args: NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "granary %s\n", VersionText())
			return err
		},
	}
}

// commit is the commit of the build. The linker sets it in archives (.ci/archives). It is empty in a module
// that the go command downloaded, which has only a version.
var commit string

// VersionText returns the version, the commit of the build, the Go version and the platform.
func VersionText() string {
	version, commit := "(devel)", commit
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	if commit != "" {
		version += " " + commit
	}
	return fmt.Sprintf("%s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/serve"
)

// newPush returns the command push.
func newPush() *cobra.Command {
	var f inputFlags
	cmd := serve.NewPush(inputsHelp, func() (serve.Inputs, error) {
		s, err := f.source()
		return serve.Inputs{Labels: s.labels, Web: s.web, Note: noteFetch}, err
	})
	cmd.Args = someInputs
	f.flags(cmd)
	return cmd
}

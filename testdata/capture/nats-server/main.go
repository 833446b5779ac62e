// Command nats-server is the real NATS server with its block and mutex profiles turned on. The
// server's own main package has no flag for the mutex profile. This one is equivalent, and
// sets the two rates first.
package main

import (
	"flag"
	"os"
	"runtime"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	runtime.SetMutexProfileFraction(1)

	fs := flag.NewFlagSet("nats-server", flag.ExitOnError)
	opts, err := server.ConfigureOptions(fs, os.Args[1:],
		server.PrintServerAndExit, fs.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	// The server sets the block rate from this option when its profiling port starts, so a
	// rate set in the runtime would be overwritten.
	opts.ProfBlockRate = 10_000 // nanoseconds blocked per sample

	s, err := server.NewServer(opts)
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		server.PrintAndDie(err.Error())
	}
	s.WaitForShutdown()
}

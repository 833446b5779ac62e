// Command etcd is the real etcd server with its block and mutex profiles
// turned on: etcd's own main package sets only the mutex rate, to one in five.
package main

import (
	"os"
	"runtime"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	runtime.SetBlockProfileRate(10_000) // nanoseconds blocked per sample
	runtime.SetMutexProfileFraction(1)
	etcdmain.Main(os.Args)
}

#!/usr/bin/env bash
# Captures the profiles in testdata/profiles again, from real Go programs that
# run for a few seconds each on 127.0.0.1. It needs Go, curl and the Go module
# proxy, and takes about three minutes on two cores:
#
#   testdata/capture/capture.sh [OUTPUT-DIRECTORY]
#
# A second run gives other samples of the same kinds. Each file is passed
# through ./scrub, which cuts the directories off the mappings' file names and
# changes nothing else; the figures it prints are those of profiles/README.md.
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "${1:-../profiles}")
tmp=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$tmp"' EXIT

# -trimpath leaves module paths instead of directories in the frames.
export CGO_ENABLED=0
go build -trimpath -o "$tmp/" ./nats-server ./etcd ./load ./scrub
go build -trimpath -o "$tmp/" github.com/cockroachdb/pebble/cmd/pebble honnef.co/go/tools/cmd/staticcheck

# keep RAW PROGRAM/KIND: scrub one profile and put it in its place.
keep() {
	mkdir -p "$out/$(dirname "$2")"
	"$tmp/scrub" "$1" "$out/$2.pb.gz"
}

# compiled PACKAGE KIND FLAGS: compile one package of the Go distribution
# with `go tool compile FLAGS`. The name of the directory is part of the
# build's cache key, so the package really is compiled. It is given with a
# slash at its end: only then is the memory profile in the pprof format.
compiled() {
	mkdir -p "$tmp/$1/$2"
	go build -gcflags="$1=${3//DIR/$tmp/$1/$2/}" "$1"
	keep "$tmp/$1/$2"/*prof "compile/$2"
}
compiled cmd/compile/internal/ssa cpu-1 "-cpuprofile=DIR"
compiled net/http cpu-2 "-cpuprofile=DIR"
compiled go/types heap "-memprofile=DIR -memprofilerate=65536"
compiled cmd/compile/internal/ssa block "-blockprofile=DIR"
compiled cmd/compile/internal/ssa mutex "-mutexprofile=DIR"

# staticcheck: checks a package and all it imports, with nothing cached. It
# ends with an error when it has something to say about the package.
STATICCHECK_CACHE=$tmp/cache "$tmp/staticcheck" \
	-debug.cpuprofile="$tmp/cpu" -debug.memprofile="$tmp/heap" github.com/spf13/cobra >/dev/null || true
keep "$tmp/cpu" staticcheck/cpu
keep "$tmp/heap" staticcheck/heap

# pebble: its own benchmark, which writes these files into the directory it
# runs in, a CPU profile every ten seconds. A smaller memory profile rate than
# Go's 512 KiB shows more call sites.
(cd "$tmp" && GODEBUG=memprofilerate=65536 ./pebble bench ycsb "$tmp/pebble-data" \
	--workload read=40,update=40,insert=10,scan=10 --initial-keys 100000 --scans 1-100 \
	--concurrency 4 --cache 16000000 --duration 19s >/dev/null)
keep "$tmp/cpu.0000.prof" pebble/cpu-1
keep "$tmp/cpu.0010.prof" pebble/cpu-2
keep "$tmp/heap.prof" pebble/heap
keep "$tmp/mutex.prof" pebble/mutex

# served PROTOCOL LISTEN PPROF NAME: put load on the server that was started
# last, and fetch all five kinds from its /debug/pprof three times meanwhile.
served() {
	server=$!
	until curl -sf -o /dev/null "http://$3/debug/pprof/"; do sleep 0.2; done
	"$tmp/load" "$1" "$2" 35s &
	load=$!
	sleep 4
	for n in 1 2 3; do
		curl -sf -o "$tmp/cpu-$n" "http://$3/debug/pprof/profile?seconds=8"
		for kind in heap goroutine block mutex; do
			curl -sf -o "$tmp/$kind-$n" "http://$3/debug/pprof/$kind"
		done
	done
	wait $load
	kill $server
	wait $server || true
	server=
	for kind in cpu heap goroutine block mutex; do
		for n in 1 2 3; do keep "$tmp/$kind-$n" "$4/$kind-$n"; done
	done
}
"$tmp/nats-server" --name nats --addr 127.0.0.1 --port 14222 \
	--jetstream --store_dir "$tmp/nats-data" --profile 14223 2>/dev/null &
served nats 127.0.0.1:14222 127.0.0.1:14223 nats-server

"$tmp/etcd" --name etcd --data-dir "$tmp/etcd-data" --enable-pprof \
	--listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379 \
	--listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 \
	--initial-cluster etcd=http://127.0.0.1:12380 --log-level error &
served etcd 127.0.0.1:12379 127.0.0.1:12379 etcd

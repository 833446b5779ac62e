package main

const help = `granary-parca serves the API of Parca v0.28.0 on a Granary store.

Usage:

    granary-parca [--addr 127.0.0.1:7070] [--dir DIR] [--memory MiB] [--retention 24h]

Agents that write to Parca write to it: parca-agent, Parca's gRPC WriteRaw and WriteArrow,
and the OTLP profiles of the version that Parca v0.28.0 knows. Clients that ask Parca ask it:
gRPC, gRPC-Web, and JSON below /api. There is no page: Parca's is not in its Go module. Point
one at the address, with --cors and its origin.

Without --dir samples are in memory, and go when the process ends. With it they are in that
directory, which one process at a time opens, and a restart has them again.

Examples:

    granary-parca --dir parca-data --retention 168h --memory 2048
    curl 'http://127.0.0.1:7070/api/profiles/types'
    curl 'http://127.0.0.1:7070/api/profiles/labels'

What is not served: debug information (locations without lines stay addresses), scraping
(give an agent the targets), sharing of profiles, and sources.

Metrics are at /metrics, profiles of the process at /debug/pprof/.

Flags:

`

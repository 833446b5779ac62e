module github.com/granarydb/granary/compat/interop

go 1.26.0

require github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe

module github.com/granarydb/granary/bench

go 1.26.0

require github.com/granarydb/granary v0.0.0

replace github.com/granarydb/granary => ../

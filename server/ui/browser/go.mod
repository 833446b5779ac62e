module github.com/granarydb/granary/server/ui/browser

go 1.26.0

require (
	github.com/chromedp/cdproto v0.0.0
	github.com/chromedp/chromedp v0.23.0
	github.com/google/pprof v0.0.0
	github.com/granarydb/granary v0.0.0
	github.com/granarydb/granary/server v0.0.0
)

replace (
	github.com/granarydb/granary => ../../..
	github.com/granarydb/granary/server => ../..
)

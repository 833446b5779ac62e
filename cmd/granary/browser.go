package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// opening returns a function for the URL of a command's server. Unless stays is true, the function opens a
// browser, and reports on standard error if it cannot.
func opening(cmd *cobra.Command, stays bool) func(url string) {
	return func(url string) {
		if !stays && !openBrowser(cmd.Context(), url) {
			fmt.Fprintln(cmd.ErrOrStderr(), "granary: no browser could be started: open the URL in one, or set BROWSER")
		}
	}
}

// openBrowser starts a browser with a URL, and reports whether a browser could be started. It tries the
// commands in the environment variable BROWSER, separated as in PATH, or the system's browser. No goroutine
// waits for the browser, because it can outlive this process.
func openBrowser(ctx context.Context, url string) bool {
	commands := [][]string{{"xdg-open", url}}
	switch runtime.GOOS {
	case "darwin":
		commands = [][]string{{"open", url}}
	case "windows":
		commands = [][]string{{"rundll32", "url.dll,FileProtocolHandler", url}}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			commands = nil // xdg-open would start, and fail later
		}
	}
	if own := os.Getenv("BROWSER"); own != "" {
		commands = nil
		for _, text := range filepath.SplitList(own) {
			commands = append(commands, browserCommand(text, url))
		}
	}
	for _, command := range commands {
		if len(command) == 0 {
			continue
		}
		cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
		if cmd.Start() == nil {
			_ = cmd.Process.Release()
			return true
		}
	}
	return false
}

// browserCommand splits a command of BROWSER into words. The URL replaces %s, or becomes the last word.
func browserCommand(text, url string) []string {
	words := strings.Fields(text)
	there := false
	for i, word := range words {
		if strings.Contains(word, "%s") {
			words[i], there = strings.ReplaceAll(word, "%s", url), true
		}
	}
	if !there && len(words) > 0 {
		words = append(words, url)
	}
	return words
}

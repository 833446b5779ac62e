// Package browser has the tests of the page in Chromium. It is a module of its own, so that a browser's protocol is no
// dependency of the server. The tests are skipped where no Chromium is installed; continuous integration installs it.
package browser

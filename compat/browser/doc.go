// Package browser has the tests of the page in Chromium. They are outside of the server's module, so that a browser's protocol is
// no dependency of the server. The tests are skipped where no Chromium is installed; continuous integration installs it.
package browser

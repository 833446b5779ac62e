// Package browser has the tests of the page in Chromium. They are outside the server's module, so that the
// server does not depend on a browser's protocol. The tests are skipped if Chromium is not installed;
// continuous integration installs it.
package browser

// Package browser has the tests of the page in Chromium, and of each view in Firefox. They are outside the server's
// module, so that the server does not depend on a browser's protocol. The tests are skipped if the browser is not
// installed; continuous integration installs Chromium, and each night Firefox.
package browser

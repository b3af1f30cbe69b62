// Package page shows the holder's status page to a real browser: Chromium without a window, driven over its debugging
// protocol. The page is served by the very handler the holder serves, over triggers in a fake client.
//
// The browser is Debian's package chromium; HOLDFAST_CHROMIUM names another binary. Where there is none the tests fail.
package page

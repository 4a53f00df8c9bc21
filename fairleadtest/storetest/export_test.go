package storetest

import (
	"testing"
	"testing/synctest"
)

// RunInBubble is [Run] in bubbles of testing/synctest, for what lives in this
// process: no wait takes time.
func RunInBubble(t *testing.T, open func(t *testing.T) (a, b Stores)) {
	t.Helper()
	play(t, open, synctest.Test)
}

package escape

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON writes what cannot be seen in a JSON text, or reorders what can, as JSON's own
// escapes, so that the meaning stays.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || !Invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

package safetext

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON writes what [Line] escapes in a JSON text as JSON's own escapes. It keeps white space.
func JSON(text string) string {
	var b strings.Builder
	odd := alike(text)
	for i, r := range text {
		if r == '\n' || !Invisible(r) && !odd[i] {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

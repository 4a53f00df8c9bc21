package safetext

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// JSON writes what cannot be seen in a JSON text, or reorders what can, as JSON's own
// escapes, so that the meaning stays.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || !Invisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// JSONWriter writes JSON texts to w as [JSON] has them, each by one Write, as
// a json.Encoder makes them.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

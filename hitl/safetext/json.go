package safetext

import (
	"fmt"
	"io"
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

// JSONWriter writes JSON texts to w as [JSON] has them, each by one Write, as a json.Encoder makes them.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

// A jsonWriter reports the length of what it was given, as a Writer has to, not of what it wrote.
type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

package safetext

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// JSON writes what [Line] escapes in a JSON text as JSON's own escapes, so that the meaning
// stays. It keeps white space.
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

// JSONWriter writes JSON texts to w as [JSON] has them, each by one Write, as
// a json.Encoder makes them.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

// Doubtful reports whether a text has characters that [Line] escapes since they could be
// taken for others.
func Doubtful(s string) bool { return len(alike(s)) > 0 }

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

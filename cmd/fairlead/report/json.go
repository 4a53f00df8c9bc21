package report

import (
	"io"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// JSONWriter writes JSON texts to w as [safetext.JSON] has them, each by one Write, as a json.Encoder makes them.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

// A jsonWriter reports the length of what it was given, as a Writer has to, not of what it wrote.
type jsonWriter struct{ to io.Writer }

func (w jsonWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, safetext.JSON(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Package probe reads the text of one argument and says what a call with it would do:
// [SQL] reads a query, [HTTP] a request and [Shell] a command line. Each of them is a
// [preflight.Probe], for a tool that runs whatever it is given:
//
//	preflight.Rules{"db/run_sql": preflight.Argument("sql", probe.SQL)}
//
// A probe calls a text a read only if every part of it is known to read. What it
// cannot read with certainty is destructive.
package probe

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
)

// maxProbed is how many bytes a probe reads. A person's query, request or
// command is far shorter; what is longer is asked about.
const maxProbed = 16 << 10

func harmless(why string) preflight.Verdict {
	return preflight.Verdict{Annotations: annotation.ReadOnly(), Why: why}
}

func harmful(format string, args ...any) preflight.Verdict {
	return preflight.Verdict{Annotations: annotation.Destructive(), Why: fmt.Sprintf(format, args...)}
}

// plain says why a text cannot be read whatever its language: it is too long, no
// UTF-8, or has characters that nobody sees. It returns "" for a plain text.
func plain(text string) string {
	if len(text) > maxProbed {
		return fmt.Sprintf("%d bytes are more than is read", len(text))
	}
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return fmt.Sprintf("byte %d is no UTF-8", i)
		case r == '\n' || r == '\t':
		case !unicode.IsPrint(r): // control, format and private characters, and every blank but the space
			return fmt.Sprintf("the character %U", r)
		}
	}
	return ""
}

// shown quotes a piece of the text for one line of an explanation.
func shown(s string) string {
	const most = 40
	short := []rune(s)
	if len(short) > most {
		return strconv.Quote(string(short[:most]) + "…")
	}
	return strconv.Quote(s)
}

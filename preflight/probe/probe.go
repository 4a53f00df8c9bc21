// Package probe judges a call by the text of one argument: [SQL] reads a query, [HTTP] a request and [Shell] a command
// line. Each is a [preflight.Probe], for a tool that runs whatever it is given:
//
//	preflight.Rules{"db/run_sql": preflight.Argument("sql", probe.SQL)}
//
// A text is a read only if every part of it is known to read; anything else is destructive.
package probe

import (
	_ "embed" // for words.txt
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
)

// maxProbed is how many bytes a probe reads; a longer text is asked about.
const maxProbed = 16 << 10

func harmless(why string) preflight.Verdict {
	return preflight.Verdict{Annotations: annotation.ReadOnly(), Why: why}
}

func harmful(why string) preflight.Verdict {
	return preflight.Verdict{Annotations: annotation.Destructive(), Why: why}
}

// plain returns why a text cannot be read in any language: too long, not UTF-8, or invisible characters; or "".
func plain(text string) string {
	if len(text) > maxProbed {
		return fmt.Sprintf("%d bytes are more than is read", len(text))
	}
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return fmt.Sprintf("byte %d is not UTF-8", i)
		case r == '\n' || r == '\t':
		case !unicode.IsPrint(r): // control, format and private characters, and every blank but the space
			return fmt.Sprintf("the character %U", r)
		}
	}
	return ""
}

func shown(s string) string {
	const most = 40
	short := []rune(s)
	if len(short) > most {
		return strconv.Quote(string(short[:most]) + "…")
	}
	return strconv.Quote(s)
}

//go:embed words.txt
var wordLists string

var lists = func() map[string][]string {
	lists := make(map[string][]string)
	for line := range strings.Lines(strings.ReplaceAll(wordLists, "\n\t", " ")) {
		name, words, _ := strings.Cut(line, ":")
		lists[name] = strings.Fields(words)
	}
	return lists
}()

func in(list, word string) bool { return slices.Contains(lists[list], word) }

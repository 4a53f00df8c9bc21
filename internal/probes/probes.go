// Package probes reads the text of an argument: SQL, and requests of HTTP. Package preflight/probe offers the readers to
// hosts, and internal/languages lists those that judge conditions on arguments if the host sets nothing.
package probes

import (
	_ "embed" // for words.txt
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
)

// maxProbed is how many bytes a probe reads; a longer text is asked about.
const maxProbed = 16 << 10

// A Verdict is what a text makes of a call, and why, for people.
type Verdict struct {
	Annotations annotation.Annotations
	Why         string
}

// Harmless is the verdict on a text that reads.
func Harmless(why string) Verdict {
	return Verdict{Annotations: annotation.ReadOnly(), Why: why}
}

// Harmful is the verdict on any other text.
func Harmful(why string) Verdict {
	return Verdict{Annotations: annotation.Destructive(), Why: why}
}

// Plain returns why a text cannot be read in any language: too long, not UTF-8, or invisible characters; or "".
func Plain(text string) string {
	if len(text) > maxProbed {
		return fmt.Sprintf("%d bytes are more than is read", len(text))
	}
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return fmt.Sprintf("byte %d is not UTF-8", i)
		case ' ' <= r && r <= '~', r == '\n', r == '\t':
		case !unicode.IsPrint(r): // control, format and private characters, and every blank but the space
			return fmt.Sprintf("the character %U", r)
		}
	}
	return ""
}

// Shown returns the beginning of a text in quotes.
func Shown(s string) string {
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

// sets are the same lists, to look words up in.
var sets = func() map[string]map[string]bool {
	sets := make(map[string]map[string]bool, len(lists))
	for name, words := range lists {
		sets[name] = make(map[string]bool, len(words))
		for _, word := range words {
			sets[name][word] = true
		}
	}
	return sets
}()

func in(list, word string) bool { return sets[list][word] }

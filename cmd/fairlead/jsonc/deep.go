// Package jsonc checks JSON with comments before a parser that calls itself reads it.
package jsonc

import (
	"bytes"
	"regexp"
)

// maxDepth is how deep encoding/json goes.
const maxDepth = 10_000

// tokens are strings and comments, which may lack their ends, and brackets.
var tokens = regexp.MustCompile(`(?s)"(?:\\.?|[^"\\])*"?|//[^\n]*|/\*.*?(?:\*/|$)|[][{}]`)

// Deep returns the line in which lists and objects of JSON, maybe with comments, are nested deeper
// than encoding/json goes, 0 if they are not. A parser without that limit would run out of stack.
func Deep(text []byte) (line int) {
	depth, place := 0, 0
	for { // token by token, since a list of all takes many times the space of the text
		at := tokens.FindIndex(text[place:])
		if at == nil {
			return 0
		}
		switch text[place+at[0]] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return 1 + bytes.Count(text[:place+at[0]], []byte("\n"))
			}
		case ']', '}':
			depth--
		}
		place += at[1]
	}
}

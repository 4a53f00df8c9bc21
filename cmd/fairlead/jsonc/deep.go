// Package jsonc checks JSON with comments before a parser that calls itself reads it.
package jsonc

import "bytes"

// maxDepth is how deep encoding/json goes.
const maxDepth = 10_000

// Deep returns the line in which lists and objects of JSON, maybe with comments, are nested deeper
// than encoding/json goes, 0 if they are not. A parser without that limit would run out of stack.
func Deep(text []byte) (line int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return 1 + bytes.Count(text[:i], []byte("\n"))
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i += comment(text[i:])
		}
	}
	return 0
}

// comment is how many bytes of a comment follow the slash that begins it.
func comment(text []byte) int {
	for start, end := range map[string]string{"//": "\n", "/*": "*/"} {
		if rest, is := bytes.CutPrefix(text, []byte(start)); is {
			if at := bytes.Index(rest, []byte(end)); at >= 0 {
				return at + len(start) + len(end) - 1
			}
			return len(text)
		}
	}
	return 0
}

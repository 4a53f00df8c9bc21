package dial

import "bytes"

// plain makes JSON of JSON with comments and trailing commas, as editors keep their
// settings. What it takes out becomes blanks, so that every place stays where it was.
func plain(text []byte) []byte {
	out := bytes.TrimPrefix(bytes.Clone(text), []byte("\ufeff"))
	comma := -1 // the last comma, as long as nothing but blanks came after it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			i = endOfString(out, i)
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := bytes.IndexByte(out[i:], '\n')
			i = blank(out, i, end)
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end >= 0 {
				end += 4
			}
			i = blank(out, i, end)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// endOfString returns where the string that begins at i ends.
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// blank takes out n bytes from i on, all that is left where n is negative, and leaves
// the ends of lines. It returns the place of the last.
func blank(text []byte, i, n int) int {
	end := i + n
	if n < 0 {
		end = len(text)
	}
	for k := i; k < end; k++ {
		if text[k] != '\n' {
			text[k] = ' '
		}
	}
	return end - 1
}

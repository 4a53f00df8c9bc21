package safetext

import "strings"

// marks are the characters that a reader can take for a quotation mark, in which our quotations end.
const marks = "\"“”„‟″‶‷‴ˮ˝ʺ״〃〝〞〟＂❝❞❠🙶🙷🙸«»‹›《》〈〉「」『』"

// Quote returns s in quotation marks, for a place with one line among words of ours. It escapes what [Line] escapes,
// and a mark inside as \" or by its number, so that s cannot end the quotation and go on as if it were ours. Two
// apostrophes in a row, which can be taken for a mark, are escaped as well. [Cut] the text before, with limit, if the
// mark of what is missing is to be inside; 0 cuts nothing.
func Quote(s string, limit int) string {
	text := Line(s)
	if limit > 0 {
		text = Cut(text, limit)
	}
	var b strings.Builder
	b.WriteByte('"')
	before := rune(0)
	for _, r := range text {
		switch {
		case r == '"':
			b.WriteString(`\"`)
		case strings.ContainsRune(marks, r), isApostrophe(r) && isApostrophe(before):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
		before = r
	}
	b.WriteByte('"')
	return b.String()
}

func isApostrophe(r rune) bool { return strings.ContainsRune("'`´‘’‚‛′‵ʹʼ", r) }

// Word returns s as it is if it is one plain word of at most limit bytes, of ASCII letters, digits and the signs of names
// and paths, and otherwise as [Quote] has it, cut to the limit. Among words of ours it cannot be taken for more than one
// word.
func Word(s string, limit int) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./@+~#[]*$%=", r)
	}
	if s != "" && len(s) <= limit && strings.TrimFunc(s, plain) == "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return Quote(s, limit)
}

package infer

import "unicode"

// A class of a byte or rune, as the scanner sees it. 1 to 26 are letters.
const (
	gap     byte = iota + 32 // white space
	part                     // part of an identifier: a digit, an underscore
	stop                     // ends a sentence
	line                     // may end a sentence
	comma                    // separates verbs
	colon                    // what follows stands for itself
	paren                    // what follows is an aside
	unparen                  // the aside is over
	slash                    // either of two
	hyphen                   // binds words
	quote                    // the next word is a mention
	silent                   // nothing at all: an apostrophe, an invisible character
	escape                   // begins a terminal's control sequence
	other                    // a letter of another script
	symbol                   // anything else
)

// classes of the ASCII bytes; 0 where a rune has to be decoded.
var classes = func() (t [256]byte) {
	for c := range byte(128) {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = c - 'a' + 1
		case 'A' <= c && c <= 'Z':
			t[c] = c - 'A' + 1
		case '0' <= c && c <= '9' || c == '_':
			t[c] = part
		case c == 0x1b:
			t[c] = escape
		case c == '\n':
			t[c] = line
		case c == ' ' || c == '\t' || c == '\r':
			t[c] = gap
		case c < ' ' || c == 127 || c == '\'':
			t[c] = silent
		default:
			t[c] = symbol
		}
	}
	for chars, class := range map[string]byte{
		".!?;": stop, ",&": comma, ":|": colon, "([": paren, ")]": unparen, "/": slash, "-": hyphen, "`\"<{$#@=\\": quote,
	} {
		for _, c := range []byte(chars) {
			t[c] = class
		}
	}
	return t
}()

// lookalikes are the letters of other scripts that pass for a Latin one.
var lookalikes = func() map[rune]byte {
	m := make(map[rune]byte)
	for latin, others := range map[byte]string{
		'a': "аαạɑ", 'b': "ЬВʙ", 'c': "сϲᴄ", 'd': "ԁɗ", 'e': "еєҽΕ", 'g': "ɡց", 'h': "һΗН", 'i': "іιɪı", 'j': "јϳ",
		'k': "κкΚ", 'l': "ӏⅼ", 'm': "мΜМ", 'n': "ոՈ", 'o': "оοօ", 'p': "рρ", 'q': "ԛ", 'r': "гᴦ", 's': "ѕꜱ", 't': "тτΤ",
		'u': "υսᴜ", 'v': "νѵ", 'w': "ԝѡ", 'x': "хχ", 'y': "уγү", 'z': "ᴢΖ",
	} {
		for _, r := range others {
			m[r] = latin
		}
	}
	for latin, accented := range map[byte]string{
		'a': "àáâãäåāăą", 'c': "çćč", 'd': "ďđ", 'e': "èéêëēėęě", 'g': "ğģ", 'i': "ìíîïīį", 'l': "łĺľ", 'n': "ñńňņ",
		'o': "òóôõöøōő", 'r': "řŕ", 's': "śšş", 't': "ťţ", 'u': "ùúûüūůűų", 'y': "ýÿ", 'z': "źżž",
	} {
		for _, r := range accented {
			m[r] = latin
		}
	}
	return m
}()

// fold returns the class of a rune past ASCII: the letter that it passes for, so
// that a word cannot hide, or what else it is. Nothing is identified by this.
func fold(r rune) byte {
	switch {
	case r == unicode.ReplacementChar: // also what stands for broken bytes
		return symbol
	case 0x3040 <= r && r <= 0xD7A3: // the scripts of East Asia: nothing looks alike
		return other
	case r == '’' || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) || 0xE0000 <= r && r <= 0xE0FFF:
		return silent
	case r == '–' || r == '—':
		return colon
	case r == '“' || r == '”' || r == '«' || r == '»' || r == '‘':
		return quote
	case r == '。' || r == '！' || r == '？' || r == '；':
		return stop
	case r == '，' || r == '、':
		return comma
	case 0xFF21 <= r && r <= 0xFF3A: // full-width capitals
		return byte(r-0xFF21) + 1
	case 0xFF41 <= r && r <= 0xFF5A: // full-width letters
		return byte(r-0xFF41) + 1
	case 0x1D400 <= r && r <= 0x1D6A3: // mathematical letters, 26 capitals and 26 small in turn
		return byte((r-0x1D400)%26) + 1
	case 0x24B6 <= r && r <= 0x24E9: // circled letters
		return byte((r-0x24B6)%26) + 1
	case r == 0x85 || r == 0x2028 || r == 0x2029:
		return line
	case unicode.IsSpace(r):
		return gap
	}
	if c, ok := lookalikes[r]; ok {
		return c - 'a' + 1
	}
	if c, ok := lookalikes[unicode.ToLower(r)]; ok {
		return c - 'a' + 1
	}
	if unicode.IsLetter(r) {
		return other
	}
	if unicode.IsDigit(r) {
		return part
	}
	return symbol
}

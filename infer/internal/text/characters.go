package text

// marks are the characters that mean something between words, by their kind.
var marks = map[Kind]string{
	gap: " \t\r", line: "\n\u0085\u2028\u2029", stop: ".!?;。！？；", Comma: ",&，、", Colon: ":|–—", Paren: "([", Unparen: ")]",
	Slash: "/", hyphen: "-", quote: "`\"<{$#@=\\“”«»‘", part: "_", silent: "'’", escape: "\x1b",
}

// lookalikes are the accented letters, and the letters of other scripts that pass
// for a Latin one.
var lookalikes = map[rune]string{
	'a': "аαạɑàáâãäåāăą", 'b': "ЬВʙ", 'c': "сϲᴄçćč", 'd': "ԁɗďđ", 'e': "еєҽΕèéêëēėęě", 'g': "ɡցğģ", 'h': "һΗН",
	'i': "іιɪıìíîïīį", 'j': "јϳ", 'k': "κкΚ", 'l': "ӏⅼłĺľ", 'm': "мΜМ", 'n': "ոՈñńňņ", 'o': "оοօòóôõöøōő", 'p': "рρ",
	'q': "ԛ", 'r': "гᴦřŕ", 's': "ѕꜱśšş", 't': "тτΤťţ", 'u': "υսᴜùúûüūůűų", 'v': "νѵ", 'w': "ԝѡ", 'x': "хχ", 'y': "уγүýÿ",
	'z': "ᴢΖźżž",
}

// alphabets are the Latin letters in another dress, 26 after 26: plain small and
// capital ones, full-width, mathematical and circled ones.
var alphabets = [...]struct{ first, last rune }{
	{'a', 'z'}, {'A', 'Z'}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x1D400, 0x1D6A3}, {0x24B6, 0x24E9},
}

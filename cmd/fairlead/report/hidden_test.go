package report_test

import "testing"

func TestWhatHides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain":                  {"Reads a file.\n\tOne line\r\nmore.", ""},
		"other scripts":          {"ファイルを読む。 Löscht. 文件", ""},
		"blanks":                 {"a\u00a0b\u3000c", ""},
		"an emoji":               {"⚠️ careful ❤️‍🔥 👩🏽‍💻 ✔︎", ""},
		"Persian with its joint": {"می\u200cخواهم", ""},
		"zero-width":             {"delete\u200bfile", "U+200B"},
		"a joint between Latin":  {"re\u200dad", "U+200D"},
		"reordered":              {"a\u202egpj.exe\u202c", "U+202C, U+202E"},
		"ANSI":                   {"\x1b[8mhidden\x1b[0m", "U+001B 2 times"},
		"tags":                   {"ok\U000e0069\U000e0067", "U+E0067, U+E0069"},
		"smuggled in selectors":  {"a\ufe0f\ufe01b", "U+FE01, U+FE0F"},
		"private use":            {"a\ue000", "U+E000"},
		"byte order mark":        {"\ufeffa", "U+FEFF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reportOn(t, tool("get_a", "Get a file. "+c.text, readOnly))
			got := ""
			for _, f := range r.Findings {
				got = f.Text
			}
			want := ""
			if c.want != "" {
				want = "hidden characters: description has " + c.want
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

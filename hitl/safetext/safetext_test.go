package safetext_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/fairlead-go/fairlead/internal/longtest"
)

func TestTextAndLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, text, line string }{
		{"plain", "Lists files.", "Lists files.", "Lists files."},
		{"empty", "", "", ""},
		{"other scripts stay", "Löscht 文件 קובץ", "Löscht 文件 קובץ", "Löscht 文件 קובץ"},
		{"composed from marks", "\u00e9 e\u0301", `é e\u0301`, `é e\u0301`},
		{"a second spelling", "\u212b \uac00 \u1100\u1161 \ufb01", `\u212b 가 \u1100\u1161 \ufb01`, `\u212b 가 \u1100\u1161 \ufb01`},
		{"a vowel in two parts", "\u0995\u09cb \u0995\u09c7\u09be \u0995\u09be", `কো কে\u09be কা`, `কো কে\u09be কা`},
		{"Cyrillic letters in a Latin word", "p\u0430yp\u0430l", `p\u0430yp\u0430l`, `p\u0430yp\u0430l`},
		{"and one that is Cyrillic to everybody", "p\u0430y\u0436", `p\u0430y\u0436`, `p\u0430y\u0436`},
		{"a Cyrillic word that could be Latin", "\u0441\u043e\u0441\u043e", `\u0441\u043e\u0441\u043e`, `\u0441\u043e\u0441\u043e`},
		{"Cyrillic words that could not", "Удалить файл", "Удалить файл", "Удалить файл"},
		{"a Greek word, and one that could be Latin", "λόγος \u03bf\u03bd", `λόγος \u03bf\u03bd`, `λόγος \u03bf\u03bd`},
		{"another alphabet's letters", "\u13aa \u0251 \uff41 \U0001d41a", `\u13aa \u0251 \uff41 \U0001d41a`, `\u13aa \u0251 \uff41 \U0001d41a`},
		{"other hyphens, dots and slashes", "a\u2010b\u2024c\u2044d", `a\u2010b\u2024c\u2044d`, `a\u2010b\u2024c\u2044d`},
		{"other digits", "\u0661 \u06f1", `\u0661 \u06f1`, `\u0661 \u06f1`},
		{"right-to-left letters before digits", "\u05d0\u05d1 12", `\u05d0\u05d1 12`, `\u05d0\u05d1 12`},
		{"digits before right-to-left letters", "12 אב", "12 אב", "12 אב"},
		{"digits after a word between", "אב a 12", "אב a 12", "אב a 12"},
		{"signs of everyday text", "“so” – it’s done… €5 → ½ ✓", "“so” – it’s done… €5 → ½ ✓", "“so” – it’s done… €5 → ½ ✓"},
		{"languages of Europe", "naïve Straße Łódź Škoda ệ Đặng", "naïve Straße Łódź Škoda ệ Đặng", "naïve Straße Łódź Škoda ệ Đặng"},
		{"newline and tab", "a\n\tb", "a\n\\tb", `a\n\tb`},
		{"many lines", "a\nb\nc\n\nd\n\n\ne", "a\nb\nc\n\nd\n\n\\ne", `a\nb\nc\n\nd\n\n\ne`},
		{"carriage return overwrites a line", "safe\rrm", `safe\rrm`, `safe\rrm`},
		{"B003: NUL in a name", "a\x00b", `a\x00b`, `a\x00b`},
		{"B005: zero-width in a name", "delete\u200bfile", `delete\u200bfile`, `delete\u200bfile`},
		{"B023: 300 newlines", "Get the weather" + strings.Repeat("\n", 300) + "Also deletes all forecasts",
			"Get the weather\n\n⟦298 newlines⟧Also deletes all forecasts", `Get the weather⟦300 newlines⟧Also deletes all forecasts`},
		{"B023: the same with spaces between", "a\n \n \n \nb", "a\n \n \\n \\nb", `a\n \n \n \nb`},
		{"B025: ANSI conceal", "\x1b[8mdelete everything\x1b[0m list files", `\x1b[8mdelete everything\x1b[0m list files`, `\x1b[8mdelete everything\x1b[0m list files`},
		{"C1 control", "\u009b8m", `\u009b8m`, `\u009b8m`},
		{"B027: tag characters", "ok\U000e0069\U000e0067", `ok\U000e0069\U000e0067`, `ok\U000e0069\U000e0067`},
		{"right-to-left override", "a\u202egpj.exe", `a\u202egpj.exe`, `a\u202egpj.exe`},
		{"isolates and marks", "\u2066\u200f\u061c", `\u2066\u200f\u061c`, `\u2066\u200f\u061c`},
		{"variation selectors smuggle bytes", "x\ufe0f\U000e0101", `x\ufe0f\U000e0101`, `x\ufe0f\U000e0101`},
		{"blank letters", "a\u3164\u115f\u2800b", `a\u3164\u115f\u2800b`, `a\u3164\u115f\u2800b`},
		{"odd spaces and line ends", "a\u00a0b\u2028c\u0085", `a\u00a0b\u2028c\u0085`, `a\u00a0b\u2028c\u0085`},
		{"private use", "\ue000", `\ue000`, `\ue000`},
		{"invalid UTF-8", "a\xffb\xc0", `a\xffb\xc0`, `a\xffb\xc0`},
		{"a real replacement character stays", "a\ufffdb", "a\ufffdb", "a\ufffdb"},
		{"an escape cannot be faked", `\x1b[8m ⟦9 newlines⟧`, `\\x1b[8m \u27e69 newlines\u27e7`, `\\x1b[8m \u27e69 newlines\u27e7`},
		{"a count cannot be faked", "\n{3}", "\n{3}", `\n{3}`},
		{"spaces push text off the screen", "ok" + strings.Repeat(" ", 80) + "rm", `ok⟦80 spaces⟧rm`, `ok⟦80 spaces⟧rm`},
		{"indentation", "{\n    a", "{\n    a", `{\n⟦4 spaces⟧a`},
		{"a mark in front sits on our text", "\u0338ok", `\u0338ok`, `\u0338ok`},
		{"a pile of marks", "क" + strings.Repeat("\u0901", 6), "क\u0901\u0901\u0901\u0901\\u0901\\u0901", "क\u0901\u0901\u0901\u0901\\u0901\\u0901"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := safetext.Text(tt.in); got != tt.text {
				t.Errorf("Text: got %q, want %q", got, tt.text)
			}
			if got := safetext.Line(tt.in); got != tt.line {
				t.Errorf("Line: got %q, want %q", got, tt.line)
			}
		})
	}
}

// harmless reports, independently of the package, which runes may be shown raw.
func harmless(r rune) bool {
	if unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
		return r == ' '
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}

func TestEveryCodePoint(t *testing.T) {
	t.Parallel()
	n, every := 0, rune(longtest.Every(t, 8))
	for r := rune(0); r <= unicode.MaxRune; r++ {
		n++
		if r > 0x3ffff && r < 0xe0000 && r%every != 0 {
			continue // planes with nothing in them
		}
		in := "a" + string(r)
		if 0xd800 <= r && r <= 0xdfff {
			in = "a" + string([]byte{0xed, 0x80 | byte(r>>6&0x3f), 0x80 | byte(r&0x3f)}) // as a sloppy encoder writes it
		}
		for i, got := range [2]string{safetext.Line(in), safetext.Text(in)} {
			name := [2]string{"Line", "Text"}[i]
			switch raw := got == in; {
			case raw && !harmless(r) && !(r == '\n' && name == "Text"):
				t.Fatalf("%s: %U reaches the screen", name, r)
			case !raw && strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }):
				t.Fatalf("%s: %U becomes %q, which is not plain", name, r, got)
			}
			if back := decode(t, got); back != in {
				t.Fatalf("%s: %U: %q reads back as %q", name, r, got, back) // two would show alike
			}
		}
	}
	if n != 1_114_112 {
		t.Errorf("got %d code points, want 1114112", n)
	}
}

// decode reads an escaped text back. That it can is the proof that no two texts
// show alike.
func decode(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for s != "" {
		if counted, ok := strings.CutPrefix(s, "⟦"); ok {
			body, rest, _ := strings.Cut(counted, "⟧")
			count, what, _ := strings.Cut(body, " ")
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			b.WriteString(strings.Repeat(map[string]string{"newlines": "\n", "spaces": " "}[what], n))
			s = rest
			continue
		}
		if s[0] != '\\' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		number := func(digits int) int {
			n, err := strconv.ParseUint(s[2:2+digits], 16, 32)
			if err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			s = s[2+digits:]
			return int(n)
		}
		switch s[1] {
		case 'x':
			b.WriteByte(byte(number(2)))
		case 'u':
			b.WriteRune(rune(number(4)))
		case 'U':
			b.WriteRune(rune(number(8)))
		default:
			b.WriteByte(map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\'}[s[1]])
			s = s[2:]
		}
	}
	return b.String()
}

func FuzzReadsBack(f *testing.F) {
	f.Add("a\n\n\n\n\n  ⟦3 newlines⟧\x1b\xff\u202e\u0301")
	f.Fuzz(func(t *testing.T, s string) { readsBack(t, s) })
}

func readsBack(t *testing.T, s string) {
	t.Helper()
	for name, got := range map[string]string{"Text": safetext.Text(s), "Line": safetext.Line(s)} {
		if back := decode(t, got); back != s {
			t.Fatalf("%s(%q) = %q, which reads back as %q", name, s, got, back)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%s(%q) is not UTF-8", name, s)
		}
	}
	if strings.ContainsAny(safetext.Line(s), "\n\r\t") {
		t.Fatalf("Line(%q) has more than one line", s)
	}
	if strings.Contains(safetext.Text(s), "\n\n\n") {
		t.Fatalf("Text(%q) has two blank lines in a row", s)
	}
}

func TestRandomTextsReadBack(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", " ", "    ", "\n", "\n\n\n\n", "\t", "\\", "{", "}", "⟦", "⟧", "n", "x1b", "\x1b", "\xff", "\xed\xa0", "é", "\u0301", "\u202e", "\U000e0041", "3 newlines"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		readsBack(t, b.String())
	}
}

func BenchmarkLine(b *testing.B) {
	s := strings.Repeat("Lists the files of a directory. ", 8)
	b.ReportAllocs()
	for b.Loop() {
		safetext.Line(s)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"empty", "", 0, ""},
		{"cut", strings.Repeat("a", 40), 33, strings.Repeat("a", 12) + `…⟦28 bytes cut⟧`},
		{"between runes", strings.Repeat("é", 20), 32, strings.Repeat("é", 5) + `…⟦30 bytes cut⟧`},
		{"not inside an escape", safetext.Line("aaaaa\u202eaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 31, `aaaaa…⟦36 bytes cut⟧`},
		{"not inside a doubled backslash", safetext.Line(`aaaaaaaa\\\\\\\\\\\\\\\\\\`), 32, `aaaaaaaa\\…⟦34 bytes cut⟧`},
		{"not inside a count", safetext.Line("a" + strings.Repeat("\n", 300) + strings.Repeat("b", 40)), 33, `a…⟦58 bytes cut⟧`},
		{"no space for more than the mark", strings.Repeat("a", 40), 5, `…⟦40 bytes cut⟧`},
		{"negative", "a", -1, `…⟦1 bytes cut⟧`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := safetext.Cut(tt.in, tt.limit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCutIsNeverLongerAndMarksTheGap(t *testing.T) {
	t.Parallel()
	s := safetext.Line(strings.Repeat("a\u202e\\é\n\n\n\n\n\n", 40))
	for limit := 32; limit < len(s); limit++ {
		got := safetext.Cut(s, limit)
		if len(got) > limit {
			t.Fatalf("limit %d: %d bytes", limit, len(got))
		}
		kept, tail, ok := strings.Cut(got, "…")
		if !ok || !strings.HasPrefix(s, kept) || tail != `⟦`+strconv.Itoa(len(s)-len(kept))+` bytes cut⟧` {
			t.Fatalf("limit %d: got %q", limit, got)
		}
		decode(t, kept) // no escape is torn
	}
}

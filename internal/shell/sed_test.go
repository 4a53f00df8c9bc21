package shell

import "testing"

func TestScriptsOfSed(t *testing.T) {
	t.Parallel()
	for script, asks := range map[string]bool{
		"p": false, "1,5p": false, "$!d": false, "/a/,/b/{p;n}": false, "s/a/b/2gp": false, "s|a/b|c|I": false, "y/abc/xyz/": false, `\,x,d`: false,
		"/[/]/p": true, "a text; w x": false, "1~2p": false, ":a;N;$!ba;s/\\n/ /g": false, "q5": false, "=": false, "# w x": false,
		"w x": true, "s/a/b/w x": true, "s/a/b/e": true, "s/a/b/pw x": true, "e": true, "1e ls": true, "r x": true, "W x": true, "R x": true,
		"p;w x": true, "{p;w x\n}": true, "# c\nw x": true, "a text\nw x": true, "s/a": true, "s/a/b": true, "sxaxbxw y": true, "p w": true,
		"s/a/b/}w x": true, "/a": true, "5": true, `\`: true, "a\\\ntext": true, "v": true,
	} {
		if why := sedFault(word{text: script}); (why != "") != asks {
			t.Errorf("%q: %q, asks is %v", script, why, asks)
		}
	}
}

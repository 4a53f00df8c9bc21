package shell_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/shell"
)

func TestParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ls -la && rm -rf build; cat a | sort":  "safe ls -la|dangerous rm -rf build|safe cat a|safe sort",
		"ls & rm a":                             "safe ls|dangerous rm a",
		"cat a > b; ls":                         "dangerous cat a > b|safe ls",
		`echo "a; rm b" | wc`:                   `safe echo "a; rm b"|safe wc`,
		"(rm a; ls); pwd":                       "dangerous (rm a; ls)|safe pwd",
		"if true; then rm a; fi; ls":            "dangerous if true; then rm a; fi|safe ls",
		"rm -rf build":                          "", // one command
		"ls() { rm -rf ~; }; ls":                "",
		"PATH=/tmp; ls":                         "",
		"PATH=/tmp ls; cat a":                   "",
		"alias ls=rm; ls a":                     "",
		"export LD_PRELOAD=/tmp/a.so; ls":       "",
		"cat <<X; ls\nrm -rf ~\nX\n":            "",
		"ls; 'unterminated":                     "",
		"ls; \u202erm":                          "",
		strings.Repeat("ls; ", 400):             "",
		"eval x; ls":                            "",
		"\"eval\" x; ls":                        "",
		`\eval x; ls`:                           "",
		"command eval x; ls":                    "",
		"$x a; ls":                              "",
		"read a; ls":                            "",
		"command -v ls; git status && git push": "safe command -v ls|safe git status|dangerous git push",
		"! ls; rm b":                            "safe ! ls|dangerous rm b",
		"rm a 2>/dev/null || true":              "dangerous rm a 2>/dev/null|safe true",
		"for i in a b; do rm $i; done; ls /srv": "dangerous for i in a b; do rm $i; done|safe ls /srv",
	} {
		var got []string
		for _, p := range shell.Parts(text) {
			class := "dangerous"
			if p.Verdict.Annotations.Safety() == annotation.Safe {
				class = "safe"
			}
			got = append(got, class+" "+p.Text)
		}
		if joined := strings.Join(got, "|"); joined != want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, joined, want)
		}
	}
}

package command

import (
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown command":       {"explode"},
		"unknown flag":          {"infer", "--what"},
		"argument to infer":     {"infer", "tools.jsonl"},
		"no server":             {"inspect"},
		"unknown format":        {"inspect", "--format", "xml", "http://127.0.0.1:1"},
		"command without --":    {"inspect", "npx", "server"},
		"no http URL":           {"inspect", "ftp://example.com"},
		"format and json":       {"inspect", "--json", "--format", "md", "http://127.0.0.1:1"},
		"no such level":         {"inspect", "--fail-on", "bad", "http://127.0.0.1:1"},
		"no command":            {"inspect", "--"},
		"no such file":          {"inspect", "--config", "nowhere.json"},
		"a name for two":        {"inspect", "--name", "a", "http://127.0.0.1:1", "http://127.0.0.1:2"},
		"no such name":          {"inspect", "--name", "a__b", "http://127.0.0.1:1"},
		"a name of no file":     {"inspect", "--server", "a", "http://127.0.0.1:1"},
		"a name of nothing":     {"inspect", "--server", "a="},
		"an open quote":         {"inspect", "--server", "a='b"},
		"no tool":               {"call"},
		"command is not a tool": {"call", "--", "npx", "server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, "", args...)
			if code != exitUsage || stderr == "" || stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d and a line on stderr", code, stdout, stderr, exitUsage)
			}
		})
	}
}

// A mistake in the command line is answered with what was probably meant, and with the help of that command.
func TestMistakesSuggestWhatWasMeant(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"inspect npx -y server":                     "there is no flag -y; if it belongs to the command of a server, put -- before that command: fairlead inspect -- npx -y …",
		"call read https://a.example/mcp npx --yes": "put -- before that command: fairlead call read https://a.example/mcp -- npx --yes …",
		"call read --args {} -- x":                  `there is no flag --args; did you mean "--arguments"?`,
		"call read -q":                              "there is no flag -q\n",
		"inspct":                                    `there is no command "inspct" under "fairlead"; did you mean "inspect"?`,
		"inspct https://a.example":                  `did you mean "inspect"?`,
		"lock acept":                                `there is no command "acept" under "fairlead lock"; did you mean "accept"?`,
		"version":                                   `did you mean "--version"?`,
		"frobnicate":                                "there is no command \"frobnicate\" under \"fairlead\"\n",
		"inspect --timeout soon -- x":               `--timeout "soon": it is not a duration; write one such as 30s`,
		"proxy --replicas many -- x":                `--replicas "many": it is not a whole number`,
		"inspect --fail-on terrible -- x":           `--fail-on "terrible": want one of error`,
	} {
		words := strings.Fields(line)
		code, stdout, stderr := program(t, "", words...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) || strings.Contains(stderr, `\t`) {
			t.Errorf("%s: exit %d, got %s%s", line, code, stdout, stderr)
		}
		command := "fairlead"
		switch words[0] {
		case "inspect", "call", "lock", "proxy":
			command += " " + words[0]
		}
		if !strings.HasSuffix(stderr, "\nRun '"+command+" --help' for what it takes.\n") {
			t.Errorf("%s: got %s", line, stderr)
		}
	}
}

func TestMissingWordsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"audit show":         {[]string{"audit", "show"}, "FILE is missing: fairlead audit show FILE"},
		"audit verify":       {[]string{"audit", "verify"}, "FILE is missing"},
		"audit repair":       {[]string{"audit", "repair", "a", "b"}, `"b" is one word too many`},
		"policy check":       {[]string{"policy", "check"}, "FILE is missing"},
		"policy explain":     {[]string{"policy", "explain"}, "FILE is missing"},
		"call":               {[]string{"call"}, "TOOL is missing"},
		"approvers, spelled": {[]string{"proxy", "--approve", "Webb", "--", "true"}, `want one of elicit, web, terminal, deny, got "webb"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, stdout, stderr := program(t, "", c.args...); code != exitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
				t.Errorf("exit %d; stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

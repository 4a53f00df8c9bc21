package command

import (
	"strings"
	"testing"
)

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
		"inspect --fail-on terrible -- x":           `--fail-on "terrible": it is none of error`,
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

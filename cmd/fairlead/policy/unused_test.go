package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/policy"
)

// A denial counts in each spelling that clients and people use for a tool, and for no other tool.
func TestDenialInEachSpelling(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		"github/read_secrets", "github__read_secrets", "mcp__github__read_secrets", "mcp__github__*", "mcp__fairlead__github__read_secrets",
		"github:read_secrets", "github.read_secrets", "GitHub/read_secrets", "github/Read_Secrets", "GITHUB__READ_SECRETS", "github/*", "github__*",
		"read_secrets", "Read_Secrets", "*/read_secrets", "g*/read_*", "github/read_secrets*", "gi[t]hub/read_?ecrets",
		"mcp__github__read_secrets(*)", "mcp_github_read_secrets", "github_read_secrets", "github-read_secrets", "github(read_secrets)", "Mcp(github:read_secrets)",
		"mcp:github:read_secrets", "mcp.github.read_secrets", "github_*", "Mcp(github:*)", "github(*)",
	} {
		for _, decide := range []string{"deny", "ask"} {
			p := parse(t, fmt.Sprintf(`{"rules": [{"tool": %q, "decide": %q}]}`, written, decide))
			if v, _ := p.Decide("github", "read_secrets", annotation.Safe); v.String() != decide {
				t.Errorf("%q: got %q, want %s", written, v, decide)
			}
			for _, other := range [][2]string{{"github", "list_repos"}, {"files", "write_secrets"}, {"hub", "secrets"}} {
				if v, _ := p.Decide(other[0], other[1], annotation.Safe); v != policy.None && !strings.Contains(written, "*") {
					t.Errorf("%q: %s is %q as well", written, other, v)
				}
			}
		}
	}
}

// A pattern of names is not one of servers.
func TestPatternOfNamesNamesNoServer(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"*_secrets", "*-secrets", "read_*_x", "g?t_secrets", "_secrets"} {
		p := parse(t, fmt.Sprintf(`{"rules": [{"tool": %q, "decide": "deny"}]}`, written))
		if v, _ := p.Decide("files", "secrets", annotation.Safe); v != policy.None {
			t.Errorf("%q: files/secrets is %q", written, v)
		}
	}
}

// What permits counts as it is defined: for the names of clients, and for nothing that only looks alike.
func TestPermissionInNoOtherSpelling(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]policy.Verdict{
		"github/delete_repo": policy.Allow, "github__delete_repo": policy.Allow, "mcp__github__delete_repo": policy.Allow,
		"GitHub/delete_repo": policy.None, "github:delete_repo": policy.None, "github.delete_repo": policy.None,
		"mcp__fairlead__github__delete_repo": policy.None, "delete_repo": policy.None, "mcp__github__*": policy.None,
		"github_delete_repo": policy.None, "github-delete_repo": policy.None, "github(delete_repo)": policy.None, "Mcp(github:delete_repo)": policy.None,
	} {
		p := parse(t, fmt.Sprintf(`{"rules": [{"tool": %q, "decide": "allow", "class": "dangerous"}]}`, written))
		if v, _ := p.Decide("github", "delete_repo", annotation.Dangerous); v != want {
			t.Errorf("%q: got %q, want %q", written, v, want)
		}
	}
}

// A name that no tool and no server can have is a fault of the file.
func TestNamesThatNothingCanHave(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"rules": [{"tool": "github/read_secrets ", "decide": "deny"}]}`,
		`{"rules": [{"tool": " github/read_secrets", "decide": "deny"}]}`,
		`{"rules": [{"tool": "github /read_secrets", "decide": "deny"}]}`,
		`{"rules": [{"tool": "github/ read_secrets", "decide": "deny"}]}`,
		`{"rules": [{"tool": "git hub/read_secrets", "decide": "deny"}]}`,
		`{"rules": [{"tool": "git:hub/read_secrets", "decide": "deny"}]}`,
		`{"rules": [{"tool": "github/read\tsecrets", "decide": "deny"}]}`,
		`{"rules": [{"tool": "read_secrets\n", "decide": "deny"}]}`,
		`{"rules": [{"tool": "https://github.com/read", "decide": "deny"}]}`,
		`{"tools": [{"tool": "git__hub/x", "class": "dangerous"}]}`,
		`{"permissions": [{"tool": "git hub/x", "permission": "a.read"}]}`,
		`{"cache": {"github/x ": "off"}}`,
		`{"flow": {"trusted": ["github/x "]}}`,
		`{"probes": {"github /x": {"sql": "sql"}}}`,
		`{"arguments": {"git hub/x": {"when": {"a": ["b"]}, "class": "safe"}}}`,
		`{"trust": ["git hub"]}`, `{"trust": ["*"]}`, `{"trust": ["github/*"]}`,
		`{"limits": {"servers": {"github/*": {"perMinute": 1}}}}`,
	} {
		if _, err := policy.Parse("p.json", []byte(text)); err == nil || !strings.Contains(err.Error(), "p.json:1: ") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// A place that names nothing that is there is named by its line and key, with what may be meant.
func TestUnusedNames(t *testing.T) {
	t.Parallel()
	there := policy.There{Servers: []string{"github", "files", "away"}, Listed: map[string][]string{
		"github": {"read_secrets", "create_issue", "Read CIFS Share"}, "files": {"write_file"},
	}}
	for text, want := range map[string]string{
		`{"rules": [{"tool": "github/read_secret", "decide": "deny"}]}`:                                              `p.json:1: rules[0].tool: "github/read_secret" names no tool that is listed, so this has no effect; did you mean "github/read_secrets"?`,
		`{"rules": [{"tool": "github", "decide": "deny"}]}`:                                                          ``, // the server that is away may have it
		`{"rules": [{"tool": "gthub/*", "decide": "deny"}]}`:                                                         `did you mean "github"?`,
		`{"rules": [{"tool": "GitHub/create_issue", "decide": "allow"}]}`:                                            `did you mean "github"?`,
		`{"rules": [{"tool": "GitHub/create_issue", "decide": "deny"}]}`:                                             ``,
		`{"rules": [{"tool": "github:create_issue", "decide": "deny"}]}`:                                             ``,
		`{"rules": [{"tool": "github/Read CIFS Share", "decide": "deny"}]}`:                                          ``,
		`{"rules": [{"tool": "away/x", "decide": "deny"}]}`:                                                          ``,
		`{"rules": [{"tool": "github/del*", "decide": "ask"}]}`:                                                      `names no tool that is listed`,
		`{"tools": [{"tool": "files/rite_file", "class": "dangerous"}]}`:                                             `tools[0].tool: "files/rite_file" names no tool that is listed, so this has no effect; did you mean "files/write_file"?`,
		`{"arguments": {"files/writefile": {"when": {"a": ["b"]}, "class": "dangerous"}}}`:                           `arguments.files/writefile: `,
		`{"cache": {"files/writ": "off"}}`:                                                                           `did you mean "files/write_file"?`,
		`{"flow": {"trusted": ["files/read"]}}`:                                                                      `flow.trusted[0]`,
		`{"permissions": [{"tool": "files/read", "permission": "a.read"}]}`:                                          `permissions[0].tool`,
		`{"trust": ["GitHub"]}`:                                                                                      `p.json:1: trust[0]: no server here is called "GitHub", so this has no effect; did you mean "github"?`,
		`{"limits": {"servers": {"crm": {"perMinute": 1}}}}`:                                                         `limits.servers.crm: no server here is called "crm", so this has no effect; there are github, files, away`,
		`{"approvals": {"approved": [{"tool": "files/x", "members": {"a": {"any": true}}, "until": "2099-01-01"}]}}`: `approvals.approved[0].tool`,
	} {
		got := strings.Join(parse(t, text).Unused(there), "\n")
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	there.Servers = there.Servers[:2]
	if got := parse(t, `{"rules": [{"tool": "github", "decide": "deny"}]}`).Unused(there); len(got) != 1 || !strings.Contains(got[0], `for all tools of that server, write "github/*"`) {
		t.Errorf("got %q", got)
	}
	if got := parse(t, whole).Unused(policy.There{}); len(got) == 0 {
		t.Error("without a server everything is in order")
	}
}

// A star in a value stands for itself; a word stands for any value.
func TestArgumentThatIsPresent(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"arguments": {"pw/messages": {"when": {"filename": ["*.txt"]}, "class": "dangerous"}}}`)
	if got := strings.Join(p.Warnings, "\n"); !strings.Contains(got, `p.json:1: arguments.pw/messages.when.filename[0]: the star in "*.txt" stands for itself`) {
		t.Errorf("got %q", got)
	}
	p = parse(t, `{"arguments": {"pw/messages": {"when": {"filename": "present"}, "class": "dangerous"}}}`)
	if len(p.Warnings) > 0 {
		t.Errorf("got %q", p.Warnings)
	}
	if len(p.Arguments) != 1 {
		t.Errorf("got %v", p.Arguments)
	}
}

package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/fairlead-go/fairlead/preflight/probe"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A deed is what a tool of an agent does, whatever the agent calls it.
type deed int

const (
	unknown    deed = iota // its calls ask
	shell                  // runs a command line of a POSIX shell
	powershell             // runs a command line of another shell
	readFile               // reads a file that an argument names
	search                 // looks at names or contents of files in a folder
	change                 // changes or makes a file that an argument names
	patch                  // changes files that a patch names
	fetch                  // gets a page
	webSearch              // sends words to a search engine
	delegate               // starts a sub-agent, whose calls are events of their own
	inner                  // keeps notes of the agent, or asks its user
)

// deeds are the tools that agents bring, by the names of all of them: no two mean different deeds by one name. Sources:
// the agents' public documentation of their tools and hooks, 2026-11.
var deeds = map[string]deed{
	// Claude Code
	"Bash": shell, "BashOutput": inner, "KillShell": change, "KillBash": change, "PowerShell": powershell, "Monitor": shell,
	"Read": readFile, "Glob": search, "Grep": search, "LS": search, "NotebookRead": readFile, "LSP": search,
	"Write": change, "Edit": change, "MultiEdit": change, "NotebookEdit": change,
	"WebFetch": fetch, "WebSearch": webSearch, "Task": delegate, "Agent": delegate,
	"TodoWrite": inner, "TodoRead": inner, "TaskCreate": inner, "TaskGet": inner, "TaskList": inner, "TaskUpdate": inner, "TaskOutput": inner, "ExitPlanMode": inner, "EnterPlanMode": inner, "AskUserQuestion": inner,
	"ToolSearch": inner, "ListMcpResourcesTool": inner,
	// Codex
	"shell": shell, "local_shell": shell, "exec_command": shell, "unified_exec": shell, "apply_patch": patch, "update_plan": inner, "view_image": readFile, "web_search": webSearch,
	// Gemini CLI
	"run_shell_command": shell, "read_file": readFile, "read_many_files": search, "list_directory": search, "glob": search, "search_file_content": search, "grep_search": search,
	"write_file": change, "replace": change, "web_fetch": fetch, "google_web_search": webSearch, "write_todos": inner, "ask_user": inner,
	// Cursor
	"Shell": shell, "StrReplace": change, "EditNotebook": change, "ReadLints": search, "SemanticSearch": search, "UpdateCurrentStep": inner,
	// Copilot CLI and VS Code
	"bash": shell, "powershell": powershell, "view": readFile, "grep": search, "rg": search, "edit": change, "create": change, "str_replace_editor": change, "task": delegate, "report_intent": inner, "ask_user_question": inner,
	"runInTerminal": shell, "run_in_terminal": shell, "editFiles": change, "insert_edit_into_file": change, "replace_string_in_file": change, "create_file": change, "readFile": readFile,
	"listDirectory": search, "list_dir": search, "file_search": search, "fileSearch": search, "textSearch": search, "semantic_search": search, "codebase": search, "fetch_webpage": fetch, "manage_todo_list": inner, "runSubagent": delegate,
}

// A shape is what is known of a deed: a description for people, in words of our own, and its annotations.
type shape struct {
	description string
	annotations annotation.Annotations
}

// shapes are the deeds as tools. The annotations are those of the worst call; the rules in [rules] lower single calls.
var shapes = map[deed]shape{
	shell:      {"Run a command line in a POSIX shell on this machine.", annotation.Destructive()},
	powershell: {"Run a command line in a shell of Windows on this machine.", annotation.Destructive()},
	readFile:   {"Read a file of this machine.", annotation.ReadOnly()},
	search:     {"List or search files of this machine.", annotation.ReadOnly()},
	change:     {"Make or change a file of this machine.", annotation.Destructive()},
	patch:      {"Apply a patch to files of this machine.", annotation.Destructive()},
	fetch:      {"Get a page of the web.", openWorld(annotation.Destructive())},
	webSearch:  {"Send words to a search engine of the web.", openWorld(annotation.ReadOnly())},
	delegate:   {"Start a sub-agent, whose calls are judged one by one.", annotation.ReadOnly()},
	inner:      {"Keep the agent's own notes, or ask its user.", annotation.ReadOnly()},
}

func openWorld(a annotation.Annotations) annotation.Annotations {
	a.OpenWorld = annotation.Yes
	return a
}

// hosted returns the server and the tool of an event as the chain has it: one of the agent's own under the agent's
// name, or an MCP tool under its server's. An unknown tool has no annotations and a name that inference is not shown,
// since its meaning is not public.
func (e *event) hosted() (server string, tool proxy.Hosted) {
	if server, name, ok := e.server(); ok {
		return server, proxy.Hosted{Definition: &mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}}
	}
	tool.Definition = &mcp.Tool{Name: e.tool, InputSchema: map[string]any{"type": "object"}}
	if s, ok := shapes[deeds[e.tool]]; ok {
		tool.Definition.Description, tool.Annotations = s.description, s.annotations
		return e.client.name, tool
	}
	tool.Definition.Description = "A tool of " + e.client.title + " that Fairlead does not know."
	tool.Annotations = annotation.Annotations{RequiresConfirmation: annotation.Yes}
	return e.client.name, tool
}

// rules returns the rules for calls by their arguments of the agents' own tools, for a policy that has none for them.
func rules() preflight.Rules {
	all := make(preflight.Rules)
	for _, c := range clients {
		for tool, deed := range deeds {
			if rule := ruleOf(deed); rule != nil {
				all[c.name+"/"+tool] = rule
			}
		}
	}
	return all
}

func ruleOf(d deed) preflight.Rule {
	switch d {
	case shell:
		return func(a preflight.Arguments) (preflight.Verdict, bool) {
			return commandOf(a, commandNames...)
		}
	case readFile:
		return func(a preflight.Arguments) (preflight.Verdict, bool) {
			return pathOf(a, readVerdict)
		}
	case search:
		return searchVerdict
	case change:
		return func(a preflight.Arguments) (preflight.Verdict, bool) {
			return pathOf(a, changeVerdict)
		}
	case patch:
		return func(a preflight.Arguments) (preflight.Verdict, bool) {
			folder, _ := a.Text(folderArgument)
			for _, name := range []string{"command", "input", "patch"} {
				if text, ok := a.Text(name); ok {
					return patchVerdict(folder, text), true
				}
			}
			return preflight.Verdict{Why: "no patch that could be read"}, true
		}
	case fetch:
		return fetchVerdict
	}
	return nil
}

// addresses are those of pages in a text.
var addresses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)https?://[^\s<>"'` + "`" + `]+`) })

// fetchVerdict judges a fetch by its address, or, as Gemini CLI asks for pages, by each address in its text.
func fetchVerdict(a preflight.Arguments) (preflight.Verdict, bool) {
	if _, ok := a.Raw("url"); ok {
		return preflight.Argument("url", probe.Of("http"))(a)
	}
	text, _ := a.Text("prompt")
	var worst preflight.Verdict
	found := addresses().FindAllString(text, -1)
	for i, address := range found {
		if v := probe.Of("http")(strings.TrimRight(address, ".,;:!?)]}")); i == 0 || v.Annotations.Safety() < worst.Annotations.Safety() {
			worst = v
		}
	}
	if len(found) == 0 || strings.Count(text, "://") != len(found) {
		return preflight.Verdict{Why: "no address that could be read"}, true
	}
	return worst, true
}

// commandOf judges the command line of a call, which is text or, in some agents, a list of words.
func commandOf(a preflight.Arguments, names ...string) (preflight.Verdict, bool) {
	i := slices.IndexFunc(names, func(name string) bool {
		_, ok := a.Raw(name)
		return ok
	})
	if i < 0 {
		return preflight.Verdict{Why: "no command line that could be read"}, true
	}
	text, ok := a.Text(names[i])
	if !ok {
		raw, _ := a.Raw(names[i])
		var list []string
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return preflight.Verdict{Why: "the command line is neither text nor a list of words"}, true
		}
		quoted := make([]string, len(list))
		for i, word := range list {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		text = strings.Join(quoted, " ")
	}
	return probe.Shell(text), true
}

// folderArgument is the member that is added to the arguments of an agent's own tools: the folder where the agent works,
// since the effect of a command line and the meaning of a path depend on it. An approval covers it too.
const folderArgument = "agent_cwd"

// pathNames are the arguments that name a file.
var pathNames = []string{"file_path", "path", "filePath", "absolute_path", "notebook_path", "target_file", "dir_path"}

// pathOf judges the files that a call names, and returns the strictest verdict.
func pathOf(a preflight.Arguments, judge func(folder, path string) preflight.Verdict) (worst preflight.Verdict, ok bool) {
	folder, _ := a.Text(folderArgument)
	for _, name := range pathNames {
		if _, there := a.Raw(name); !there {
			continue
		}
		path, isText := a.Text(name)
		if !isText {
			return preflight.Verdict{Why: name + " is not a string"}, true
		}
		if v := judge(folder, path); !ok || v.Annotations.Safety() < worst.Annotations.Safety() {
			worst, ok = v, true
		}
	}
	if !ok {
		return preflight.Verdict{Why: "no path that could be read"}, true
	}
	return worst, true
}

// readVerdict judges the reading of a file as the shell's cat is: the file may hold secrets by its name.
func readVerdict(_, path string) preflight.Verdict {
	return probe.Shell("cat -- '" + strings.ReplaceAll(path, "'", `'\''`) + "'")
}

// searchNames are the arguments that name where a search looks, beside pathNames.
var searchNames = []string{"paths", "include", "glob", "includePattern"}

// searchVerdict judges a search by each place that it names, as the reading of that place: a search prints what it finds.
func searchVerdict(a preflight.Arguments) (preflight.Verdict, bool) {
	for _, name := range slices.Concat(pathNames, searchNames) {
		raw, there := a.Raw(name)
		if !there || string(raw) == "null" {
			continue
		}
		places := make([]string, 1)
		if json.Unmarshal(raw, &places[0]) != nil && json.Unmarshal(raw, &places) != nil {
			return preflight.Verdict{Why: name + " is neither a string nor a list of strings"}, true
		}
		for _, place := range places {
			if v := readVerdict("", place); v.Annotations.Safety() != annotation.Safe {
				return v, true
			}
		}
	}
	return preflight.Verdict{}, false
}

// acting are parts of paths of files that another program runs or obeys: a change of them acts later, when nobody is
// asked. They are folders or names that the manuals of shells, git, CI services, editors and agents give.
var acting = []string{
	".git", ".githooks", ".husky", ".github/workflows", ".gitlab-ci.yml", ".circleci", ".ssh", ".gnupg", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".config/fish",
	".claude", ".codex", ".gemini", ".cursor", ".copilot", ".mcp.json", ".vscode", ".idea", ".envrc", ".env", ".npmrc", ".netrc", ".gitconfig", ".config", ".local", ".fairlead",
	"authorized_keys", "crontab", "launchagents",
}

// changeVerdict judges a change of a file. One below the folder where the agent works is seen by its user, and taken back
// with their version control; one of a file that acts later, or elsewhere, asks.
func changeVerdict(folder, path string) preflight.Verdict {
	elsewhere := preflight.Verdict{Annotations: annotation.Destructive(), Why: "a file outside the folder where the agent works"}
	if folder == "" || !filepath.IsAbs(folder) || strings.HasPrefix(path, "~") {
		return elsewhere
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	path, folder = resolved(path), resolved(folder)
	for _, a := range acting {
		if strings.Contains(strings.ToLower(filepath.ToSlash(path))+"/", "/"+a+"/") {
			return preflight.Verdict{Annotations: annotation.Destructive(), Why: a + " is run or obeyed by other programs"}
		}
	}
	if home, err := os.UserHomeDir(); err == nil && resolved(home) == folder {
		return elsewhere // everything that its user has
	}
	below, err := filepath.Rel(folder, path)
	if err != nil || filepath.Dir(folder) == folder || below == "." || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
		return elsewhere
	}
	return preflight.Verdict{Annotations: annotation.Update(), Why: "a file below the folder where the agent works"}
}

// patchVerdict judges a patch of Codex by the files that it names: the strictest of their changes, where a deletion is
// dangerous. A line that begins as a header does and cannot be read as one is not understood.
func patchVerdict(folder, text string) preflight.Verdict {
	var worst preflight.Verdict
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		header, ok := strings.CutPrefix(line, "*** ")
		if !ok || header == "Begin Patch" || header == "End Patch" || header == "End of File" {
			continue
		}
		what, path, _ := strings.Cut(header, ": ")
		if path == "" || !slices.Contains([]string{"Add File", "Update File", "Move to"}, what) {
			return preflight.Verdict{Annotations: annotation.Destructive(), Why: "the patch has " + strconv.Quote(header)}
		}
		if v := changeVerdict(folder, path); !found || v.Annotations.Safety() < worst.Annotations.Safety() {
			worst, found = v, true
		}
	}
	if !found {
		return preflight.Verdict{Why: "the patch names no file"}
	}
	return worst
}

// resolved returns a path without links, as far as its folders exist.
func resolved(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if followed, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(followed, rest)
		}
		if filepath.Dir(at) == at {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

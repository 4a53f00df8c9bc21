package docs_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFolders is how many folders of the root a reader of the map can keep apart.
const maxFolders = 24

// The README's map has a line for each folder of the root, in the order of a listing.
func TestReadmeMapsTheRoot(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(os.DirFS(root), ".")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, e.Name())
		}
	}
	var mapped []string
	for _, m := range regexp.MustCompile("(?m)^\\| \\[`(\\w+)`\\]\\((\\w+)\\) \\| [^|]{10,} \\|$").FindAllStringSubmatch(read(t, root, "README.md"), -1) {
		if m[1] != m[2] {
			t.Errorf("the map links %s to %s", m[1], m[2])
		}
		mapped = append(mapped, m[1])
	}
	if !slices.Equal(mapped, folders) {
		t.Errorf("the map of the README has\n%v, want the folders of the root\n%v", mapped, folders)
	}
	if len(folders) > maxFolders {
		t.Errorf("the root has %d folders, want at most %d; put the new one below the package that owns its idea", len(folders), maxFolders)
	}
}

// The README counts the modules that the library requires by itself: those that it links, and those for its tests alone.
func TestReadmeCountsTheDependencies(t *testing.T) {
	t.Parallel()
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(goTool(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(goTool(t, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./...")))
	links, tests := 0, 0
	for _, m := range mod.Require {
		switch {
		case m.Indirect:
		case slices.Contains(linked, m.Path):
			links++
		default:
			tests++
		}
	}
	text := strings.Join(strings.Fields(read(t, root, "README.md")), " ")
	want := fmt.Sprintf("The library has %d direct dependencies, the MCP Go SDK among them, and %d more for its tests.", links, tests)
	if !strings.Contains(text, want) {
		t.Errorf("the README does not have the sentence %q", want)
	}
}

func goTool(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// The few lines of a chain at the top of the README are lines of the program below them, which is compiled and run.
func TestReadmeChainIsPartOfItsProgram(t *testing.T) {
	t.Parallel()
	text := read(t, root, "README.md")
	chain := regexp.MustCompile("(?ms)^```golang\n(.*?)^```$").FindStringSubmatch(text)
	program := goBlock.FindStringSubmatch(text)
	if chain == nil || program == nil {
		t.Fatal("the README has no chain or no program")
	}
	comment := regexp.MustCompile(`\s*//.*`)
	plain := func(line string) string {
		return strings.Join(strings.Fields(comment.ReplaceAllString(line, "")), " ")
	}
	var lines []string
	for line := range strings.Lines(program[1]) {
		lines = append(lines, plain(line))
	}
	n := 0
	for line := range strings.Lines(chain[1]) {
		n++
		at := slices.Index(lines, plain(line))
		if at < 0 {
			t.Fatalf("the program does not have the line %q, or not in this order", line)
		}
		lines = lines[at+1:]
	}
	if n > 5 {
		t.Errorf("the chain has %d lines, want at most 5", n)
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const program = `package main

import "fmt"

const limit = 3

type counter struct{ n int }

func (c *counter) add(n int) { c.n += n }

func count(items []int) (n int, err error) {
	err = fmt.Errorf("none")
outer:
	for _, item := range items {
		for range limit {
			if item > 2 {
				err = nil
				break outer
			}
			n++
		}
	}
	return
}

func half(n int) (res int, err error) {
	if n < 0 {
		return 0, fmt.Errorf("negative")
	}
	res, rest := n/2, n%2
	_ = rest
	return
}

func first(s string) string {
	defer func() { recover() }()
	return s[:1]
}

func main() {
	c := &counter{}
	c.add(2)
	fmt.Println(c.n)
	fmt.Println(count([]int{1, 2, 3}))
	fmt.Println(half(5))
	fmt.Println(first("") + first("x"))
}
`

// One binary is each of the mutants, and with none switched on the program as it is.
func TestWovenBinaryIsEachMutant(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26.0\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const same = "2\n6 <nil>\n2 <nil>\nx\n"
	cases := []struct {
		name, find, with string
		want             string // "" if the mutant is alone
	}{
		{"one-line", "func (c *counter) add(n int) { c.n += n }", "func (c *counter) add(n int) { c.n -= n }", "-2\n6 <nil>\n2 <nil>\nx\n"},
		{"named-result-and-label", "n++", "n += 2", "2\n12 <nil>\n2 <nil>\nx\n"},
		{"second-of-a-function", "break outer", "continue outer", same},
		{"deferred", "return s[:1]", `return s[:0]`, "2\n6 <nil>\n2 <nil>\n\n"},
		{"results-declared-again", "_ = rest", "_ = rest; res = 9", ""},
		{"constant", "const limit = 3", "const limit = 4", ""},
		{"signature", "func first(s string) string {", "func first(s string) (t string) {", ""},
	}
	var all []*placed
	for _, c := range cases {
		p, err := place(root, mutant{name: c.name, file: "main.go", find: c.find, with: c.with})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	w, err := weave(all)
	if err != nil {
		t.Fatal(err)
	}
	var alone []string
	for _, p := range w.alone {
		alone = append(alone, p.name)
	}
	if got, want := strings.Join(alone, " "), "constant results-declared-again signature"; got != want {
		t.Errorf("alone are %s, want %s", got, want)
	}
	b := &builder{root, t.TempDir()}
	overlay, err := b.overlay("woven", w.files)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(b.dir, "p")
	if out, err := exec.CommandContext(t.Context(), "go", "-C", root, "build", "-overlay="+overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	output := func(active string) string {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), environment+"="+active)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", active, err)
		}
		return string(out)
	}
	if got := output(""); got != same {
		t.Errorf("without a mutant: got %q, want %q", got, same)
	}
	for _, c := range cases {
		if got := output(c.name); c.want != "" && got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// The compiler's message has the name of the mutant that does not compile.
func TestMutantThatDoesNotCompileIsNamed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26.0\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := place(root, mutant{name: "wrong-type", file: "main.go", find: "n++", with: `n = "two"`})
	if err != nil {
		t.Fatal(err)
	}
	h := &hunt{builder: builder{root, t.TempDir()}}
	if err := h.prepare(t.Context(), []*placed{p}); err == nil || !strings.Contains(err.Error(), "wrong-type.go:") {
		t.Errorf("got %v, want the mutant's name", err)
	}
}

package plan

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/middleware"
	"golang.org/x/term"
)

// PlainLines reads lines from anything.
func PlainLines(in io.Reader) Lines { return &plainLines{bufio.NewReader(in)} }

type plainLines struct{ in *bufio.Reader }

func (p *plainLines) ReadLine(string, []*middleware.Tool) (string, error) {
	return p.in.ReadString('\n')
}

// TerminalLines reads lines from a terminal, with history, and with completion of
// tools and arguments by Tab. The terminal is in raw mode only while it reads.
func TerminalLines(in *os.File, out io.Writer) Lines {
	t := &terminalLines{fd: int(in.Fd()), out: out}
	t.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")
	t.term.AutoCompleteCallback = t.complete
	return t
}

type terminalLines struct {
	fd    int
	out   io.Writer
	term  *term.Terminal
	tools []*middleware.Tool
}

func (t *terminalLines) ReadLine(prompt string, tools []*middleware.Tool) (string, error) {
	t.tools = tools
	old, err := term.MakeRaw(t.fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(t.fd, old) }() // there is nothing better to do
	if w, h, err := term.GetSize(t.fd); err == nil && w > 0 {
		_ = t.term.SetSize(w, h) // a wrong width only wraps badly
	}
	t.term.SetPrompt(prompt)
	return t.term.ReadLine()
}

func (t *terminalLines) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	head, choices := Complete(t.tools, line[:pos])
	if len(choices) > 1 && head == line[:pos] {
		fmt.Fprintln(t.term, strings.Join(choices, "  "))
	}
	return head + line[pos:], len(head), true
}

// Complete completes a line up to the cursor: the first word as the name of a
// tool, the others as names of its arguments. It returns the longer line and what
// it could go on with.
func Complete(tools []*middleware.Tool, line string) (string, []string) {
	start := strings.LastIndexByte(line, ' ') + 1
	word := line[start:]
	var choices []string
	if start == 0 {
		for _, tool := range tools {
			choices = append(choices, tool.Name()+" ")
		}
		choices = append(choices, ":help", ":prompt", ":quit", ":tools", ":why ")
	} else if first, _, _ := strings.Cut(line, " "); first == ":why" {
		for _, tool := range tools {
			choices = append(choices, tool.Name())
		}
	} else if tool, err := find(first, tools); err == nil {
		for _, name := range argumentNames(Schema(tool)) {
			if name = strings.Trim(name, "[]"); !strings.Contains(line[:start], " "+name) {
				choices = append(choices, name)
			}
		}
	}
	choices = slices.DeleteFunc(choices, func(c string) bool { return !strings.HasPrefix(c, word) })
	if len(choices) == 0 {
		return line, nil
	}
	common := choices[0]
	for _, c := range choices[1:] {
		for !strings.HasPrefix(c, common) {
			common = common[:len(common)-1]
		}
	}
	return line[:start] + common, choices
}

package questions

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// page writes what a page shows before anything is opened: its text in lines, and its controls in brackets.
func page(tb testing.TB, source string) string {
	tb.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	write(&b, root, false)
	var rows []string
	for row := range strings.SplitSeq(b.String(), "\n") {
		if row = strings.TrimRight(row, " "); strings.TrimSpace(row) != "" {
			rows = append(rows, row)
		}
	}
	return strings.Join(rows, "\n")
}

var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Li: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.Dt: false, atom.Form: true, atom.Dl: true,
	atom.Article: true, atom.Section: true, atom.Header: true, atom.Fieldset: true, atom.Legend: true, atom.Label: true, atom.Details: true, atom.Main: true,
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// write writes a node. A text outside of pre is on one line.
func write(b *strings.Builder, n *html.Node, pre bool) {
	switch {
	case n.Type == html.TextNode && pre:
		b.WriteString(n.Data)
		return
	case n.Type == html.TextNode:
		if text := strings.Join(strings.Fields(n.Data), " "); text != "" {
			if strings.HasPrefix(n.Data, ".") { // nothing is between it and the text before
				before := strings.TrimRight(b.String(), " ")
				b.Reset()
				b.WriteString(before)
			}
			b.WriteString(text + " ")
		}
		return
	}
	switch n.DataAtom {
	case atom.Head, atom.Script, atom.Noscript, atom.Nav, atom.Select:
		if n.DataAtom == atom.Select {
			b.WriteString("[" + attribute(n, "aria-label") + " ▾] ")
		}
		return
	case atom.Input:
		if kind := attribute(n, "type"); kind != "hidden" {
			mark := " "
			for _, a := range n.Attr {
				if a.Key == "checked" {
					mark = "x"
				}
			}
			b.WriteString("(" + mark + ") ")
		}
		return
	case atom.Textarea:
		b.WriteString("[" + attribute(n, "name") + "]\n")
		return
	case atom.Details: // it is closed
		b.WriteString("\n▸ Details\n")
		return
	case atom.Button, atom.A:
		b.WriteString("[")
		defer func() {
			text := strings.TrimRight(b.String(), " ")
			b.Reset()
			b.WriteString(text + "] ")
		}()
	case atom.Pre:
		b.WriteString("\n")
		pre = true
	}
	if block := blocks[n.DataAtom]; block || n.DataAtom == atom.Span && pre {
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteString("\n")
		}
		defer b.WriteString("\n")
	}
	if attribute(n, "class") == "unread note" || attribute(n, "class") == "quiet hint" {
		return
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		write(b, child, pre)
	}
}

package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"strings"
)

// A placed mutant is one whose line was found.
type placed struct {
	mutant

	line        int
	start, stop int    // of the line, in the original
	replaced    string // what the line becomes
	original    []byte // the whole file
}

// place finds the line that a mutant changes. It looks at code only: comments are free.
func place(root string, m mutant) (*placed, error) {
	source, err := fs.ReadFile(os.DirFS(root), m.file)
	if err != nil {
		return nil, fmt.Errorf("mutant %s is stale: %s cannot be read: %w", m.name, m.file, err)
	}
	code := withoutComments(source)
	if n := bytes.Count(code, []byte(m.find)); n != 1 {
		return nil, fmt.Errorf("mutant %s is stale: %s has this code %d times, want once; give the mutant new code to look for:\n\t%s", m.name, m.file, n, m.find)
	}
	end := bytes.Index(code, []byte(m.find)) + len(m.find)
	start := bytes.LastIndexByte(source[:end], '\n') + 1
	stop := end + bytes.IndexByte(source[end:], '\n')
	old := string(source[start:stop])
	indent := old[:len(old)-len(strings.TrimLeft(old, "\t"))]
	p := &placed{
		mutant: m, line: 1 + bytes.Count(source[:start], []byte("\n")),
		start: start, stop: stop, replaced: indent + m.with, original: source,
	}
	if p.replaced == old {
		return nil, fmt.Errorf("mutant %s changes nothing in %s:%d", m.name, m.file, p.line)
	}
	return p, nil
}

// source returns the whole file with the change.
func (p *placed) source() []byte {
	return bytes.Join([][]byte{p.original[:p.start], []byte(p.replaced), p.original[p.stop:]}, nil)
}

// withoutComments returns the source with spaces in place of comments.
func withoutComments(source []byte) []byte {
	code := bytes.Clone(source)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return code
		case token.COMMENT:
			at := file.Offset(pos)
			copy(code[at:], strings.Repeat(" ", len(text)))
		}
	}
}

// Package connect puts the proxy in front of the servers in the files of MCP clients, adds the hooks of coding agents,
// and takes both back. It changes what it must in a file, and nothing else: comments, order and line ends stay.
package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A Machine is where the clients keep their files.
type Machine struct {
	Home   string                   // the user's home folder
	System string                   // as [runtime.GOOS] names it
	Env    func(name string) string // a variable of the environment, "" if it is not set; nil for none
	Folder string                   // the working folder, whose project files are named and left alone; "" for none
}

// A Guard is what is put in front.
type Guard struct {
	Program string   // the absolute path of the program
	Hook    string   // that of fairlead-hook, which the agents' hooks start faster; "" for the program itself
	Flags   []string // of its proxy and of its hook: the policy, the record, the store
	// Check returns why a server with an address, and without credentials in its entry, cannot be guarded: it may want a
	// login, which the proxy cannot make. Nil checks nothing.
	Check func(ctx context.Context, address string) error

	proxied []string // the client's servers behind the proxy, which its hook leaves to it
}

// A Left is what stays as it is in a file that may be changed otherwise.
type Left struct{ What, Why string }

// A File is a file of a client, and what it would be.
type File struct {
	Client string
	Path   string

	Guarded []string // the servers that get the proxy
	Hooks   bool     // whether hooks are added or brought up to date
	Already []string // what is guarded
	Left    []Left   // what stays unguarded
	Fault   error    // why the file stays as it is, nil if it does not have to
	Shared  bool     // it belongs to a project, and is only named

	before, after []byte // before is nil for a file that is not there
	mode          fs.FileMode
	remove        bool // the file was not there
	entries       []original
	secrets       []string // values that a diff does not show
}

// Changed reports whether the file would be written.
func (f *File) Changed() bool {
	return f.Fault == nil && (f.remove || f.after != nil && !bytes.Equal(f.before, f.after))
}

// An original is the text of an entry before it was guarded.
type original struct {
	Place []string `json:"place"`
	Text  string   `json:"text"`
}

// Plan returns the files of the clients that are there, with what each would be. It writes nothing.
func Plan(ctx context.Context, m Machine, g Guard) []*File {
	var files []*File
	byClient := make(map[string][]*File) // the files of servers come before those of hooks
	for _, p := range m.places() {
		f := &File{Client: p.client, Path: p.path, mode: 0o600}
		if p.project {
			if _, err := os.Lstat(p.path); err == nil {
				f.Shared, f.Fault = true, errors.New("it belongs to a project and may be shared with others; write fairlead proxy before its commands by hand")
				files = append(files, f)
			}
			continue
		}
		there, err := f.read()
		switch {
		case err != nil:
			f.Fault = err
		case !there && (p.hooks == nil || !isFolder(p.folder)):
			continue
		default:
			g.proxied = proxied(byClient[p.client]...)
			f.Fault = f.plan(ctx, p, g)
			byClient[p.client] = append(byClient[p.client], f)
		}
		if f.Fault != nil || f.Changed() || len(f.Already)+len(f.Left) > 0 {
			files = append(files, f)
		}
	}
	return files
}

// proxied returns the servers of files that are behind the proxy, as an agent names them in the names of its tools. One
// whose name is also that of a server that is not guarded is left out.
func proxied(files ...*File) []string {
	var guarded, left []string
	for _, f := range files {
		for _, name := range slices.Concat(f.Guarded, f.Already) {
			if name != hooksPart && f.Fault == nil {
				guarded = append(guarded, named(name))
			}
		}
		for _, l := range f.Left {
			left = append(left, named(l.What))
		}
	}
	slices.Sort(guarded)
	return slices.DeleteFunc(slices.Compact(guarded), func(name string) bool { return slices.Contains(left, name) })
}

// named returns the name of a server as agents write it in the names of tools.
func named(name string) string {
	name, _, _ = strings.Cut(name, " of ") // a project
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
}

// maxFile is how long a file may be. Some clients keep their history in it.
const maxFile = 64 << 20

// Read reads the file, and reports whether it is there. A file that is not the user's to change is an error.
func (f *File) read() (there bool, err error) {
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink != 0:
		return true, errors.New("it is a symbolic link, and would become a file; change what it names by hand, or replace the link")
	case !info.Mode().IsRegular():
		return true, errors.New("it is not a file")
	case info.Mode().Perm()&0o200 == 0:
		return true, errors.New("it is read-only; make it writable and run fairlead connect again")
	case info.Size() > maxFile:
		return true, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	f.mode = info.Mode().Perm()
	f.before, err = os.ReadFile(f.Path)
	return true, err
}

// plan sets what the file would be.
func (f *File) plan(ctx context.Context, p place, g Guard) error {
	again := *f
	if err := f.edit(ctx, p, g); err != nil {
		return err
	}
	if !f.Changed() {
		return nil
	}
	// What was written is read again: nothing is left to do there, and each server is found as guarded.
	again.before, again.after = f.after, nil
	if err := again.edit(ctx, p, g); err != nil {
		return fmt.Errorf("it cannot be changed safely: %w; change it by hand", err)
	}
	for _, name := range f.Guarded {
		if !slices.Contains(again.Already, name) || again.Changed() {
			return fmt.Errorf("it cannot be changed safely: the server %q is written in a form that is not known; change it by hand", name)
		}
	}
	return nil
}

// edit makes the edits of one kind of file.
func (f *File) edit(ctx context.Context, p place, g Guard) error {
	if strings.EqualFold(filepath.Ext(f.Path), ".toml") {
		return f.editTOML(ctx, g)
	}
	return f.editJSON(ctx, p, g)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Summary returns what happens to the file, one line for each part of it.
func (f *File) Summary() string {
	var b strings.Builder
	line := func(what string, names ...string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", what, safetext.Line(strings.Join(names, ", ")))
		}
	}
	if f.Fault != nil {
		line("left alone", f.Fault.Error())
		return b.String()
	}
	if f.remove {
		line("remove", "the file, which was not there before")
	}
	line("guard", f.Guarded...)
	if f.Hooks {
		line("add", "hooks")
	}
	line("guarded already", f.Already...)
	for _, l := range f.Left {
		line("not guarded", l.What+" "+l.Why)
	}
	return b.String()
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A folder is an MCP server over one folder, with a ledger of effects, and faults for --flaky.
type folder struct {
	dir   string
	root  *os.Root // no path leaves it, whatever links there are
	purge bool     // delete for good; what is deleted is moved to .trash/ otherwise
	flaky float64  // the share of calls that fail

	mu     sync.Mutex // one call at a time
	random *rand.Rand
	row    map[string]int // failures in a row, by call
	ledger map[string]int // effects, by call
}

type file struct {
	Path   string `json:"path"`
	Size   int64  `json:"size,omitempty"`
	Folder bool   `json:"folder,omitempty"`
	Text   string `json:"text,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

type files struct {
	Files []file `json:"files"`
}

type effect struct {
	Path string `json:"path"`
	Kept string `json:"kept,omitempty"` // where the old file is now
}

type pathArgs struct {
	Path string `json:"path"`
}

func (f *folder) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "folder", Version: "1"}, nil)
	add(s, f, "list_files", "List the files and folders, with their sizes.", f.list)
	add(s, f, "read_file", "Read a text file.", f.read)
	add(s, f, "search_text", "Search all text files for a piece of text and show the lines that have it.", f.search)
	add(s, f, "hash_files", "Compute the SHA-256 of files, to find equal ones.", f.hash)
	add(s, f, "move_file", "Move a file to another path, and make the folders on the way. Fails where one exists.", f.move)
	add(s, f, "delete_file", "Delete a file.", f.delete)
	return s
}

// add adds a tool that fails now and then, and whose effects are in the ledger.
func add[In, Out any](s *mcp.Server, f *folder, name, description string, do func(In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, func(_ context.Context, req *mcp.CallToolRequest, in In) (_ *mcp.CallToolResult, out Out, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		call := name + " " + string(req.Params.Arguments)
		broken := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "something broke"}
		fault := 0
		if f.random.Float64() < f.flaky && f.row[call] < 2 { // the third attempt always arrives
			f.row[call]++
			fault = 1 + f.random.IntN(3)
		} else {
			delete(f.row, call)
		}
		switch fault {
		case 1: // turned away before it ran, with an error for that
			return nil, out, &jsonrpc.Error{Code: -32023, Message: "busy", Data: json.RawMessage(`{"retryAfterMs":20}`)}
		case 2: // it did not run, and the server does not say so
			return nil, out, broken
		}
		out, err = do(in)
		if _, ok := any(out).(effect); ok && err == nil {
			f.ledger[call]++
		}
		if fault == 3 { // it ran, and the result is lost
			return nil, out, broken
		}
		return nil, out, err
	})
}

// vacant fails if a path is taken, and makes the folders on the way to it.
func (f *folder) vacant(name string) error {
	if _, err := f.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%q exists already and nothing was changed; choose another name", name))
	}
	return f.root.MkdirAll(path.Dir(name), 0o755)
}

// list leaves out what is hidden.
func (f *folder) list(struct{}) (out files, err error) {
	return out, fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		switch hidden := strings.HasPrefix(d.Name(), "."); {
		case hidden && d.IsDir():
			return fs.SkipDir
		case err == nil && !hidden && d.IsDir():
			out.Files = append(out.Files, file{Path: name, Folder: true})
		case err == nil && !hidden && d.Type().IsRegular():
			out.Files = append(out.Files, file{Path: name, Size: info.Size()})
		}
		return nil
	})
}

func (f *folder) read(in pathArgs) (file, error) {
	data, err := f.root.ReadFile(in.Path)
	if err == nil && (!utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0) {
		return file{}, fmt.Errorf("%q is not text; compare it with hash_files", in.Path)
	}
	return file{Path: in.Path, Text: string(data)}, err
}

func (f *folder) search(in struct {
	Text string `json:"text"`
}) (out files, err error) {
	all, err := f.list(struct{}{})
	for _, one := range all.Files {
		got, _ := f.read(pathArgs{one.Path}) // no text in what is not text
		for line := range strings.Lines(got.Text) {
			if strings.Contains(strings.ToLower(line), strings.ToLower(in.Text)) {
				out.Files = append(out.Files, file{Path: one.Path, Text: line})
			}
		}
	}
	return out, err
}

func (f *folder) hash(in struct {
	Paths []string `json:"paths"`
}) (out files, err error) {
	for _, name := range in.Paths {
		data, err := f.root.ReadFile(name)
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, file{Path: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))})
	}
	return out, nil
}

func (f *folder) move(in struct {
	From string `json:"from"`
	To   string `json:"to"`
}) (effect, error) {
	if err := f.vacant(in.To); err != nil {
		return effect{}, err
	}
	return effect{Path: in.To}, f.root.Rename(in.From, in.To)
}

func (f *folder) delete(in pathArgs) (effect, error) {
	if f.purge {
		return effect{Path: in.Path}, f.root.Remove(in.Path)
	}
	kept := path.Join(".trash", in.Path)
	for n := 2; f.vacant(kept) != nil && n < 1000; n++ {
		kept = fmt.Sprintf(".trash/%s.%d", in.Path, n)
	}
	return effect{in.Path, kept}, f.root.Rename(in.Path, kept)
}

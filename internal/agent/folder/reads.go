package folder

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of one answer.
const (
	maxEntries = 5_000
	maxMatches = 200
	maxRead    = 1 << 20
)

// An Entry is a file or a folder in an answer of list_files.
type Entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Folder bool   `json:"folder,omitempty"`
}

// Listing is the answer of list_files.
type Listing struct {
	Entries   []Entry `json:"entries"`
	Truncated bool    `json:"truncated,omitempty"`
}

// Text is the answer of read_file.
type Text struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// A Match is one line that search_text found.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Matches is the answer of search_text.
type Matches struct {
	Matches   []Match `json:"matches"`
	Truncated bool    `json:"truncated,omitempty"`
}

// A Hash is one file in an answer of hash_files.
type Hash struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Hashes is the answer of hash_files.
type Hashes struct {
	Hashes []Hash `json:"hashes"`
}

type (
	listArgs struct {
		Path string `json:"path,omitempty" jsonschema:"the folder to list; all of it when left out"`
	}
	readArgs struct {
		Path string `json:"path" jsonschema:"the file"`
	}
	searchArgs struct {
		Text string `json:"text" jsonschema:"what to look for, in any case"`
	}
	hashArgs struct {
		Paths []string `json:"paths" jsonschema:"the files"`
	}
)

func (j *jail) addReads(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "list_files", Description: "List the files and folders below a folder, with their sizes."}, j.list)
	mcp.AddTool(s, &mcp.Tool{Name: "read_file", Description: "Read a text file of up to 1 MiB."}, j.read)
	mcp.AddTool(s, &mcp.Tool{Name: "search_text", Description: "Search all text files for a piece of text and show the lines that have it."}, j.search)
	mcp.AddTool(s, &mcp.Tool{Name: "hash_files", Description: "Compute the SHA-256 of files, to find equal ones. Reports progress."}, j.hash)
}

func (j *jail) list(ctx context.Context, _ *mcp.CallToolRequest, in listArgs) (*mcp.CallToolResult, Listing, error) {
	out := Listing{Entries: []Entry{}}
	start, err := inside(in.Path)
	if err != nil {
		return nil, out, err
	}
	err = j.walk(ctx, start, func(name string, info fs.FileInfo) error {
		if len(out.Entries) == maxEntries {
			out.Truncated = true
			return fs.SkipAll
		}
		e := Entry{Path: name, Folder: info.IsDir()}
		if !e.Folder {
			e.Size = info.Size()
		}
		out.Entries = append(out.Entries, e)
		return nil
	})
	return nil, out, err
}

// walk visits the plain files and the folders below start in lexical order.
// Hidden ones and links are passed over.
func (j *jail) walk(ctx context.Context, start string, visit func(name string, info fs.FileInfo) error) error {
	err := fs.WalkDir(j.root.FS(), start, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == start:
			return err
		case err != nil:
			return nil // a folder that cannot be read is passed over
		case name == start && d.IsDir():
			return nil
		case strings.HasPrefix(path.Base(name), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
			return nil
		}
		return visit(name, info)
	})
	if err != nil {
		return plain(start, err)
	}
	return nil
}

func (j *jail) read(_ context.Context, _ *mcp.CallToolRequest, in readArgs) (*mcp.CallToolResult, Text, error) {
	name, err := j.file(in.Path)
	if err != nil {
		return nil, Text{}, err
	}
	text, err := j.text(name)
	return nil, Text{Path: name, Text: text}, err
}

// text returns the content of a small text file.
func (j *jail) text(name string) (string, error) {
	f, err := j.root.Open(name)
	if err != nil {
		return "", plain(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	switch {
	case err != nil:
		return "", plain(name, err)
	case len(data) > maxRead:
		return "", fmt.Errorf("%s is larger than 1 MiB; it is left unread", named(name))
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fmt.Errorf("%s is no text; compare it by hash_files", named(name))
	}
	return string(data), nil
}

func (j *jail) search(ctx context.Context, _ *mcp.CallToolRequest, in searchArgs) (*mcp.CallToolResult, Matches, error) {
	out := Matches{Matches: []Match{}}
	want := strings.ToLower(in.Text)
	if want == "" {
		return nil, out, fmt.Errorf("text is empty; say what to look for")
	}
	err := j.walk(ctx, ".", func(name string, info fs.FileInfo) error {
		if info.IsDir() || info.Size() > maxRead {
			return nil
		}
		text, err := j.text(name)
		if err != nil {
			return nil // no text
		}
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, maxRead+1)
		for n := 1; lines.Scan(); n++ {
			if !strings.Contains(strings.ToLower(lines.Text()), want) {
				continue
			}
			if len(out.Matches) == maxMatches {
				out.Truncated = true
				return fs.SkipAll
			}
			out.Matches = append(out.Matches, Match{Path: name, Line: n, Text: lines.Text()})
		}
		return nil
	})
	return nil, out, err
}

func (j *jail) hash(ctx context.Context, req *mcp.CallToolRequest, in hashArgs) (*mcp.CallToolResult, Hashes, error) {
	out := Hashes{Hashes: []Hash{}}
	for i, p := range in.Paths {
		name, err := j.file(p)
		if err != nil {
			return nil, out, err
		}
		sum, err := j.sum(ctx, name)
		if err != nil {
			return nil, out, err
		}
		out.Hashes = append(out.Hashes, Hash{Path: name, SHA256: sum})
		progress(ctx, req, i+1, len(in.Paths), name)
	}
	return nil, out, nil
}

func (j *jail) sum(ctx context.Context, name string) (string, error) {
	f, err := j.root.Open(name)
	if err != nil {
		return "", plain(name, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, until{ctx, f}); err != nil {
		return "", plain(name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// until is a reader that ends when nobody waits for it any more.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// progress tells a client that asked for it how far the call is.
func progress(ctx context.Context, req *mcp.CallToolRequest, done, total int, message string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	// A lost notification costs a step of a bar, so its error is of no use.
	_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(done), Total: float64(total), Message: message,
	})
}

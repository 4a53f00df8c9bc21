package folder

import (
	"context"
	"errors"
	"path"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Change is the answer of the tools that change something.
type Change struct {
	Path string `json:"path"`
	// Kept is where the file that was there before is now, "" for nowhere.
	Kept string `json:"kept,omitempty"`
}

type (
	fileArgs struct {
		Path string `json:"path" jsonschema:"the file"`
		Text string `json:"text" jsonschema:"all of its new text"`
	}
	moveArgs struct {
		From string `json:"from" jsonschema:"the file"`
		To   string `json:"to" jsonschema:"its new path; nothing may be there yet"`
	}
	pathArgs struct {
		Path string `json:"path" jsonschema:"the path inside the folder"`
	}
)

func (j *jail) addWrites(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "create_file", Description: "Create a new text file. Fails where one exists."}, j.create)
	mcp.AddTool(s, &mcp.Tool{Name: "write_file", Description: "Write a text file and replace the one that is there."}, j.write)
	mcp.AddTool(s, &mcp.Tool{Name: "make_directory", Description: "Make a directory, with those on the way to it."}, j.makeDirectory)
	mcp.AddTool(s, &mcp.Tool{Name: "move_file", Description: "Move a file to another path. Fails where one exists."}, j.move)
	mcp.AddTool(s, &mcp.Tool{Name: "delete_file", Description: "Delete a file."}, j.delete)
}

func (j *jail) create(_ context.Context, _ *mcp.CallToolRequest, in fileArgs) (*mcp.CallToolResult, Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name, err := j.vacant(in.Path)
	if err != nil {
		return nil, Change{}, err
	}
	return nil, Change{Path: name}, j.put(name, in.Text)
}

func (j *jail) write(_ context.Context, _ *mcp.CallToolRequest, in fileArgs) (*mcp.CallToolResult, Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name, err := j.vacant(in.Path)
	if err == nil {
		return nil, Change{Path: name}, j.put(name, in.Text)
	}
	if name, err = j.file(in.Path); err != nil {
		return nil, Change{}, err
	}
	kept, err := j.replace(name, in.Text)
	return nil, Change{Path: name, Kept: kept}, err
}

// replace puts a new file in an old one's place. The new one is written in full
// before the old one goes.
func (j *jail) replace(name, text string) (kept string, err error) {
	fresh := path.Join(path.Dir(name), ".fairlead-new")
	if err := j.put(fresh, text); err != nil {
		return "", err
	}
	if !j.purge {
		if kept, err = j.discard(name); err != nil {
			return "", errors.Join(err, j.root.Remove(fresh))
		}
	}
	return kept, j.rename(fresh, name)
}

// put writes a file.
func (j *jail) put(name, text string) error {
	if err := j.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return plain(name, err)
	}
	if err := j.root.WriteFile(name, []byte(text), 0o644); err != nil {
		return plain(name, err)
	}
	return nil
}

func (j *jail) makeDirectory(_ context.Context, _ *mcp.CallToolRequest, in pathArgs) (*mcp.CallToolResult, Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name, err := inside(in.Path)
	if err != nil {
		return nil, Change{}, err
	}
	if err := j.root.MkdirAll(name, 0o755); err != nil {
		return nil, Change{}, plain(name, err)
	}
	return nil, Change{Path: name}, nil
}

func (j *jail) move(_ context.Context, _ *mcp.CallToolRequest, in moveArgs) (*mcp.CallToolResult, Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	from, err := j.file(in.From)
	if err != nil {
		return nil, Change{}, err
	}
	to, err := j.vacant(in.To)
	if err != nil {
		return nil, Change{}, err
	}
	return nil, Change{Path: to}, j.rename(from, to)
}

func (j *jail) delete(_ context.Context, _ *mcp.CallToolRequest, in pathArgs) (*mcp.CallToolResult, Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name, err := j.file(in.Path)
	if err != nil {
		return nil, Change{}, err
	}
	kept, err := j.discard(name)
	return nil, Change{Path: name, Kept: kept}, err
}

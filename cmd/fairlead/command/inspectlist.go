package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/catalog/mount"
	"github.com/fairlead-go/fairlead/catalog/pins"
	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// A savedList is a session with the tools that a file lists. It calls none.
type savedList []*mcp.Tool

func (s savedList) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	return &mcp.ListToolsResult{Tools: s}, nil
}

func (savedList) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, errors.New("the tools are from a file, and no server is there")
}

// lists returns the servers whose lists are in files. Each is named after its file.
func (f *serverFlags) lists(cmd *cobra.Command, files, args []string, lock *pins.Lock) (*fleet, error) {
	if len(args)+len(f.configs)+len(f.servers) > 0 {
		return nil, errors.New("--tools is in place of servers; name either")
	}
	targets := make([]dial.Target, len(files))
	for i, name := range files {
		base := filepath.Base(name)
		targets[i] = dial.Target{ID: strings.TrimSuffix(base, filepath.Ext(base)), Command: []string{name}, File: name}
		if f.name != "" && len(files) == 1 {
			targets[i].ID = f.name
		}
		if err := targets[i].Check(); err != nil {
			return nil, fmt.Errorf("%w (--name)", err)
		}
	}
	all := &fleet{
		tools: catalog.New(catalog.Options{Lock: lock, NoKnown: f.noKnown}), lock: lock, cancel: func(error) {},
	}
	for _, t := range dial.Several(targets) {
		tools, err := savedTools(t.File)
		if err == nil {
			if f.trust {
				all.tools.Trust(t.ID)
			}
			err = all.tools.Add(cmd.Context(), t.ID, tools)
		}
		if err != nil {
			all.close()
			return nil, fmt.Errorf("--tools %s: %w", t.File, err)
		}
		all.asked = append(all.asked, asked{Target: t})
	}
	return all, nil
}

// savedTools reads the tools of a file, as fairlead infer takes them.
func savedTools(name string) (tools savedList, err error) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	for pages := newPageReader(file); ; {
		p, err := pages.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, raw := range p.tools {
			tool := new(mcp.Tool)
			if err := json.Unmarshal(raw, tool); err != nil || tool.Name == "" {
				return nil, &pageError{p.line, fmt.Errorf("tool %d: %w", i+1, errNoTool)}
			}
			mount.KeepDefinitionDigits(tool, raw)
			tools = append(tools, tool)
		}
	}
	if tools == nil {
		return nil, errors.New("there are no tools in it")
	}
	return tools, nil
}

package dial_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/dial"
	"github.com/google/go-cmp/cmp"
)

func TestFoldersOfTheEditor(t *testing.T) {
	t.Parallel()
	path := config(t, filepath.Join(".vscode", "mcp.json"), `{"servers": {"a": {"command": "${workspaceFolder}/x", "args": ["${workspaceFolderBasename}${/}y", "${unclosed"], "cwd": "${userHome}"}}}`)
	got, err := dial.Configured(path)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(filepath.Dir(path))
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{root + "/x", filepath.Base(root) + string(filepath.Separator) + "y", "${unclosed"}; !cmp.Equal(got[0].Command, want) || got[0].Dir != home {
		t.Errorf("got %q in %s, want %q in %s", got[0].Command, got[0].Dir, want, home)
	}
}

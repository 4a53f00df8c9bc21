package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/connect"
	"github.com/fairlead-go/fairlead/cmd/fairlead/credentials"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/fairlead-go/fairlead/hitl/safetext"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"
)

// connectFlags are the flags of fairlead connect.
type connectFlags struct {
	dir, program      string
	yes, dryRun, undo bool
	named             bool // dir was given
}

func connectCommand() *cobra.Command {
	var o connectFlags
	cmd := &cobra.Command{
		Use:   "connect",
		Short: "Put the proxy in front of the servers of all clients of this machine, and add the hooks of coding agents",
		Long: `Find the configurations of Claude Code, Claude Desktop, Codex, Copilot CLI, Cursor, Gemini
CLI, opencode, VS Code, Windsurf and Zed, put 'fairlead proxy' in front of each server there,
and add 'fairlead hook' to the coding agents. The differences are shown, and nothing is
written without a yes. Files keep their comments, their order and a backup. What cannot be
guarded is named and stays as it is.

All share one policy file, one record and one store of approvals, in --dir. A second time
adds what is new. With --undo everything is as it was: byte for byte, or without what was
added, if a client has written the file since.

A server with an address and no headers is asked whether it wants a login, since the proxy
cannot make one.`,
		Example: `  fairlead connect
  fairlead connect --dry-run
  fairlead connect --undo`,
		Args: cobra.NoArgs,
		RunE: o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "", "a `FOLDER` for the policy, the record, the approvals and the backups (default .fairlead in your home folder)")
	f.StringVar(&o.program, "program", "", "the `FILE` of the program that clients are to start (default this one)")
	f.BoolVar(&o.yes, "yes", false, "write without asking")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing; the exit code is 1 if there is something to write")
	f.BoolVar(&o.undo, "undo", false, "take everything back")
	cmd.MarkFlagsMutuallyExclusive("yes", "dry-run")
	return cmd
}

func (o *connectFlags) run(cmd *cobra.Command, _ []string) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	if o.named = o.dir != ""; !o.named {
		o.dir = filepath.Join(home, ".fairlead")
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	journal := connect.Journal(filepath.Join(o.dir, "connect"))
	if o.undo {
		files, err := journal.Undo()
		if err != nil {
			return atFault(err)
		}
		return o.carryOut(cmd, files, "Take back the changes of %d files? [y]es [N]o: ", journal.Revert)
	}
	guard, err := o.guard()
	if err != nil {
		return err
	}
	folder, _ := os.Getwd() // without one there is no project
	machine := connect.Machine{Home: home, System: runtime.GOOS, Env: os.Getenv, Folder: folder}
	files := connect.Plan(cmd.Context(), machine, guard)
	return o.carryOut(cmd, files, "Change %d files? [y]es [N]o: ", func(f *connect.File) error {
		if err := o.prepare(); err != nil {
			return err
		}
		return journal.Apply(f)
	})
}

// guard returns what is put in front of the servers.
func (o *connectFlags) guard() (connect.Guard, error) {
	find := os.Executable
	if o.program != "" {
		find = func() (string, error) { return filepath.Abs(o.program) }
	}
	program, err := find()
	if err != nil {
		return connect.Guard{}, err
	}
	if o.program == "" && strings.HasPrefix(program, os.TempDir()) && strings.Contains(program, "go-build") {
		return connect.Guard{}, errors.New("this program is a temporary one of go run; install it, or name one by --program FILE")
	}
	if o.program == "" && inCache.MatchString(filepath.ToSlash(program)) {
		return connect.Guard{}, errors.New("this program is in a cache, which is emptied at times, and clients would not find it any more; " +
			"install it (npm install --global @fairlead/fairlead), or name one by --program FILE")
	}
	in := func(name string) string { return filepath.Join(o.dir, name) }
	return connect.Guard{Program: program, Hook: hookBeside(program), Flags: []string{"--policy", in(policyFile), "--audit", in("calls.jsonl"), "--store", o.dir}, Check: wantsLogin}, nil
}

// hookBeside returns the path of fairlead-hook in the folder of the program, or "" if it is not there, or if another user
// could have put it there.
func hookBeside(program string) string {
	name := filepath.Join(filepath.Dir(program), "fairlead-hook"+filepath.Ext(program))
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || owned.Info(name, info) != nil { //nolint:gosec // beside the program that the person named
		return ""
	}
	return name
}

// inCache matches the path of a program that npx, pnpm dlx, yarn dlx or bunx has downloaded to run it once.
var inCache = regexp.MustCompile(`/(_npx|dlx(-[^/]*)?|bunx-[^/]*)/`)

const policyFile = "policy.json"

// prepare makes the folder that the proxies share, with a policy that decides nothing.
func (o *connectFlags) prepare() error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(o.dir, policyFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("{\n  \"version\": 1\n}\n")
	return errors.Join(err, f.Close())
}

// carryOut shows what happens to files, asks, and has it happen.
func (o *connectFlags) carryOut(cmd *cobra.Command, files []*connect.File, question string, do func(*connect.File) error) error {
	out := cmd.OutOrStdout()
	var changed []*connect.File
	var faults []string
	for _, f := range files {
		fmt.Fprintf(out, "%s: %s\n%s", f.Client, safetext.Line(f.Path), f.Summary())
		if _, err := io.WriteString(out, f.Diff()); err != nil {
			return written("changes", err)
		}
		switch {
		case f.Changed():
			changed = append(changed, f)
		case f.Fault != nil && !f.Shared:
			faults = append(faults, f.Path)
		}
	}
	switch {
	case len(changed) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "There is nothing to change.")
	case o.dryRun:
		return atFault(fmt.Errorf("%d files would be changed", len(changed)))
	case !o.yes && !agreed(until(cmd.Context(), cmd.InOrStdin()), cmd.ErrOrStderr(), fmt.Sprintf(question, len(changed)), func() error { return errors.New("no details") }):
		return atFault(errors.New("nothing was changed"))
	}
	for _, f := range changed {
		if err := do(f); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s is left alone: %s\n", safetext.Line(f.Path), harmless(err.Error()))
			faults = append(faults, f.Path)
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is written.\n", safetext.Line(f.Path))
	}
	if len(changed) > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "Start the clients again.")
		if !o.undo {
			o.next(cmd.ErrOrStderr(), changed)
		}
	}
	if len(faults) > 0 {
		return atFault(fmt.Errorf("%d files were left alone, see above", len(faults)))
	}
	return nil
}

// next names what a person does after the changes.
func (o *connectFlags) next(to io.Writer, changed []*connect.File) {
	if slices.ContainsFunc(changed, func(f *connect.File) bool { return f.Hooks && f.Client == "Codex" }) {
		fmt.Fprintln(to, "Codex asks once whether you trust the hooks.")
	}
	again := "fairlead connect --undo"
	if o.named {
		again += " --dir " + quotedWord(o.dir)
	}
	fmt.Fprintf(to, "Decide about calls that wait: fairlead approve\nSee the calls, once there are some: fairlead audit show %s\nTake it back: %s\n",
		quotedWord(filepath.Join(o.dir, "calls.jsonl")), again)
}

// quotedWord returns a word as a shell reads it.
func quotedWord(word string) string {
	quoted, err := syntax.Quote(word, syntax.LangPOSIX)
	if err != nil {
		return strconv.Quote(word)
	}
	return quoted
}

// loginTime is how long a server may take to answer whether it wants a login.
const loginTime = 10 * time.Second

// wantsLogin returns why a server at an address cannot be guarded, as the end of a sentence about it.
func wantsLogin(ctx context.Context, address string) error {
	ctx, stop := context.WithTimeout(ctx, loginTime)
	defer stop()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fairlead connect","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader([]byte(hello)))
	if err != nil {
		return errors.New("has an address that cannot be read")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("did not answer whether it wants a login: %w; run fairlead connect again when it can be reached", err)
	}
	defer res.Body.Close()
	switch {
	case credentials.CanSignIn(res):
		return nil
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return fmt.Errorf("wants a login (status %d), which the proxy cannot make; write a token in its headers", res.StatusCode)
	case res.StatusCode >= 300:
		return fmt.Errorf("does not speak streamable HTTP at its address (status %d)", res.StatusCode)
	}
	if session := res.Header.Get("Mcp-Session-Id"); session != "" {
		end, err := http.NewRequestWithContext(ctx, http.MethodDelete, address, http.NoBody)
		if err == nil {
			end.Header.Set("Mcp-Session-Id", session)
			if res, err := http.DefaultClient.Do(end); err == nil {
				_ = res.Body.Close()
			}
		}
	}
	return nil
}

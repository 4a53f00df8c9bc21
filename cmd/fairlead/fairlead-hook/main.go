// Command fairlead-hook is fairlead hook for agents that run a hook at each of their calls: it takes the same arguments
// and answers in the same words, and starts in a tenth of the time, since it has only what is needed to ask the process
// that keeps the sessions. That process, and whatever is not an answer to an event, is left to the command fairlead, which
// must be in the same folder.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/hooksocket"
	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/sockets"
)

// blocks is the exit code that blocks the call in every agent.
const blocks = 2

// maxEvent is how much of an event is read. A longer one is refused as one that is cut off.
const maxEvent = 64 << 20

func main() {
	code, err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fairlead: %s: %v\n", hooksocket.NotJudged, err)
		code = blocks
	}
	os.Exit(code)
}

// run answers an event, and returns the exit code of who has answered it.
func run(args []string, stdin io.Reader, stdout io.Writer) (int, error) {
	program, changed, err := beside()
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(args, isOther) {
		return leave(program, append([]string{"hook"}, args...), stdin)
	}
	event, err := io.ReadAll(io.LimitReader(stdin, maxEvent))
	if err != nil {
		return 0, fmt.Errorf("the event cannot be read: %w", err)
	}
	a := read(args)
	socket, err := a.socket(program, changed)
	if err != nil { // fairlead decides without the process, from files
		return leave(program, append([]string{"hook"}, args...), bytes.NewReader(event))
	}
	ctx, stop := context.WithTimeout(context.Background(), a.patience+5*time.Second)
	defer stop()
	out, err := hooksocket.Dial(ctx, socket, a.client, event)
	if errors.Is(err, hooksocket.ErrUnreachable) {
		return leave(program, append([]string{"hook", "--socket", socket}, args...), bytes.NewReader(event))
	}
	if err != nil {
		return 0, err
	}
	_, err = stdout.Write(out)
	return 0, err
}

// isOther reports whether an argument asks for something other than the answer to an event.
func isOther(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains([]string{"--explain", "--serve", "--socket", "--help", "-h"}, name)
}

// beside returns the command fairlead in the folder of this one, and when it changed.
func beside() (program string, changed time.Time, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", time.Time{}, err
	}
	name := "fairlead"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	program = filepath.Join(filepath.Dir(self), name)
	info, err := os.Stat(program)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("the command fairlead is not beside this one; install both: %w", err)
	}
	return program, info.ModTime(), nil
}

// arguments are what is known of the arguments without the command fairlead.
type arguments struct {
	client   string
	patience time.Duration
	others   []string // all but those of the client: agents with the same ones share a process
	relative bool     // a file is named from the working folder
}

// read reads arguments. One that is wrong is found by fairlead, which the first event starts: no process answers for
// arguments that fairlead does not take.
func read(args []string) arguments {
	a := arguments{patience: 50 * time.Second}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		words := args[i : i+1]
		takes := slices.Contains([]string{"--client", "--patience", "--policy", "--lock", "--audit", "--store"}, name)
		if takes && !joined && i+1 < len(args) {
			value, words = args[i+1], args[i:i+2]
			i++
		}
		switch name {
		case "--client":
			a.client = value
			continue
		case "--patience":
			if d, err := time.ParseDuration(value); err == nil {
				a.patience = d
			}
		case "--policy", "--lock", "--audit", "--store":
			a.relative = a.relative || !filepath.IsAbs(value)
		}
		a.others = append(a.others, words...)
	}
	return a
}

// socket returns the name of the socket of the process for these arguments and this program. A program that was replaced,
// other arguments, and another folder where a file is named from it, have a process of their own.
func (a *arguments) socket(program string, changed time.Time) (string, error) {
	dir, err := sockets.Folder()
	if err != nil {
		return "", err
	}
	folder := ""
	if a.relative {
		if folder, err = os.Getwd(); err != nil {
			return "", err
		}
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %d", program, changed.UnixNano(), folder, a.others, os.Getuid()))
	return filepath.Join(dir, hex.EncodeToString(name[:8])+".light.hook"), nil
}

// leave has the command fairlead do it, and returns its exit code.
func leave(program string, args []string, stdin io.Reader) (int, error) {
	c := exec.Command(program, args...) //nolint:gosec,noctx // it is ours; its agent ends both
	c.Stdin, c.Stdout, c.Stderr = stdin, os.Stdout, os.Stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

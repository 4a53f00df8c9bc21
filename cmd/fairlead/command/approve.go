package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
	"github.com/spf13/cobra"
)

func approveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "approve",
		Short: "Open the page with the calls that wait for your approval",
		Long: `List the calls that wait for approval at your proxies, and open their approvals pages in
the browser. Without a browser, a link to each page is written to the terminal, not to
standard output.`,
		Example: "  fairlead approve",
		Args:    cobra.NoArgs,
		RunE:    approve,
	}
}

func approve(cmd *cobra.Command, _ []string) error {
	names, err := socketsOfPages()
	if err != nil {
		return err
	}
	waits := false
	for _, name := range names {
		link, calls, err := ask(cmd.Context(), name)
		if err != nil || calls == "" {
			continue
		}
		waits = true
		fmt.Fprint(cmd.OutOrStdout(), calls)
		if err := openPage(cmd.Context(), link); err != nil {
			return err
		}
	}
	if !waits {
		fmt.Fprintln(cmd.OutOrStdout(), "no call waits on an approvals page")
	}
	return nil
}

// ask asks a page for a link and for what waits.
func ask(ctx context.Context, socket string) (link, calls string, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(socket) // its proxy was killed
		}
		return "", "", err
	}
	defer func() { _ = c.Close() }() // it was only read
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	text, err := io.ReadAll(c)
	link, calls, _ = strings.Cut(string(text), "\n")
	return link, calls, err
}

// openPage opens a page for the person, or shows them its link. A program that runs this
// command gets to see neither.
func openPage(ctx context.Context, link string) error {
	if reach.Open(ctx, link) == nil {
		return nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("there is neither a browser nor a terminal to show the page in: %w", err)
	}
	defer func() { _ = tty.Close() }() // what was written is there
	_, err = fmt.Fprintln(tty, link, "(good once, for an hour)")
	return err
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// legacy is the last revision of the protocol with sessions.
const legacy = "2025-11-25"

// A lineClient calls the tool of the server behind a proxy that is a process of its own.
type lineClient struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	bytes int // of a result, at least
	asked int
}

func newLineClient(cmd *exec.Cmd, size int) (*lineClient, error) {
	cmd.Env = append(append(os.Environ(), cmd.Env...), sizeKey+"="+strconv.Itoa(size))
	cmd.Stderr = os.Stderr
	in, out, err := pipes(cmd)
	if err != nil {
		return nil, err
	}
	c := &lineClient{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20), bytes: size}
	hello := `{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
	if err := errors.Join(c.send("initialize", hello), c.receive(1)); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, errors.Join(err, c.send("tools/list", "{}"), c.receive(1))
}

func (c *lineClient) send(method, params string) error {
	c.asked++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.asked, method, params)
	return err
}

// receive reads a response, of at least that many bytes.
func (c *lineClient) receive(size int) error {
	line, err := c.out.ReadSlice('\n')
	if err == nil && (len(line) < size || !bytes.Contains(line, []byte(`"result":`))) {
		err = fmt.Errorf("an answer that is not one: %.300s", line)
	}
	return err
}

// calls makes n calls, so many of them at once.
func (c *lineClient) calls(n, atOnce int) error {
	slots := make(chan struct{}, atOnce)
	var sending error
	var all sync.WaitGroup
	all.Go(func() {
		for range n {
			slots <- struct{}{}
			args := fmt.Sprintf(`{"name":"find_thing","arguments":{"id":"%d","text":"%s"}}`, c.asked, strings.Repeat("x", 150))
			sending = errors.Join(sending, c.send("tools/call", args))
		}
	})
	var err error
	for range n {
		err = errors.Join(err, c.receive(c.bytes))
		<-slots
	}
	all.Wait()
	return errors.Join(err, sending)
}

// cpu is the CPU time of the proxy's process so far, in steps of 10 ms.
func (c *lineClient) cpu() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	_, stat, _ = bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(stat))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (c *lineClient) close() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}

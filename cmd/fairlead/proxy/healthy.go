package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/health"
)

// probeDistance is how long a server that answered is not asked again. One that is away is asked each time.
const probeDistance = 30 * time.Second

// dependency is the name of a server in the log, in /readyz and in metrics.
func (s Server) dependency() string { return "server:" + s.Name }

// dependOnServers adds the servers to the monitor. Those with a URL are probed; a process is away while it cannot be
// started.
func (p *Proxy) dependOnServers() {
	for _, s := range p.o.Servers {
		d := health.Dependency{Name: s.dependency(), Server: true, Refused: fmt.Sprintf("the calls of the server %q fail", s.Name)}
		if s.URL != "" {
			d.Probe = s.probe()
		}
		p.o.Health.Add(d)
	}
}

// probe returns a probe of the server's URL: any answer counts, without a credential too, but those of a gateway without
// the server behind it. It sends nothing that a server could take for a call.
func (s Server) probe() func(context.Context) error {
	var mu sync.Mutex
	var next time.Time
	client := &http.Client{Transport: pool, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if s.RoundTripper != nil {
		client.Transport = s.RoundTripper
	}
	return func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(next) {
			return nil
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodHead, s.URL, http.NoBody)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxReason)) // so that the connection is used again
		_ = res.Body.Close()
		switch res.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return fmt.Errorf("it answers %s", res.Status)
		}
		next = time.Now().Add(probeDistance)
		return nil
	}
}

// fared reports whether the server could be started or has answered.
func (s *server) fared(err error) {
	s.session.proxy.o.Health.Report(s.session.ctx, s.dependency(), err)
}

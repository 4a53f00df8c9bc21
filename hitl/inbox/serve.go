package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ListenAndServe serves the page on a loopback address, such as "127.0.0.1:0", until ctx is
// done, and returns nil then. It first calls ready with the origin, such as
// "http://127.0.0.1:41234", for [Inbox.Link]. Any other address is an error.
func (in *Inbox) ListenAndServe(ctx context.Context, address string, ready func(origin string)) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("inbox: the address %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("inbox: %s is not loopback; mount the inbox in a server of your own, with TLS and Options.Hosts", address)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	ready("http://" + listener.Addr().String())
	return in.serve(ctx, listener)
}

func (in *Inbox) serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           in,
		ReadHeaderTimeout: slowBody,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(in.o.Logger.Handler(), slog.LevelWarn),
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), slowBody)
		defer cancel()
		if server.Shutdown(within) != nil {
			_ = server.Close()
		}
	})
	err := server.Serve(listener)
	if !stop() {
		<-closed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("inbox: %w", err)
}

package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// An inProcess is a server behind a stream, one message a line.
type inProcess struct {
	stream io.ReadWriteCloser
	out    *lineWriter
	over   chan struct{} // closed when nothing is read any more
}

// openStream opens a server's stream.
func openStream(s Server, log *slog.Logger, to sink) (*inProcess, error) {
	stream, err := s.Open()
	if err != nil {
		return nil, err
	}
	p := &inProcess{stream: stream, out: newLineWriter(stream), over: make(chan struct{})}
	go func() {
		err := readMessages(s, stream, log, to)
		p.out.stop()
		_ = stream.Close() // it has ended
		close(p.over)
		to.ended(fmt.Errorf("its stream ended: %w", err))
	}()
	return p, nil
}

func (p *inProcess) send(ctx context.Context, m *message) error {
	if err := p.out.send(ctx, m); err != nil {
		return notSent(err)
	}
	return nil
}

// close ends the stream, which ends the reading.
func (p *inProcess) close() {
	p.out.stop()
	_ = p.stream.Close() // an error changes nothing
	<-p.over
}

package proxy

import (
	"fmt"
	"io"
	"log/slog"
)

// An inProcess is a server behind a stream, one message a line.
type inProcess struct {
	*lineWriter

	stream io.ReadWriteCloser
	over   chan struct{} // closed when nothing is read any more
}

func openStream(s Server, log *slog.Logger, to sink) (*inProcess, error) {
	stream, err := s.Open()
	if err != nil {
		return nil, err
	}
	p := &inProcess{lineWriter: newLineWriter(stream), stream: stream, over: make(chan struct{})}
	go func() {
		err := readMessages(s, stream, log, to)
		p.stop()
		_ = stream.Close() // it has ended
		close(p.over)
		to.ended(fmt.Errorf("its stream ended: %w", err))
	}()
	return p, nil
}

func (p *inProcess) close() {
	p.stop()
	_ = p.stream.Close() // an error changes nothing
	<-p.over
}

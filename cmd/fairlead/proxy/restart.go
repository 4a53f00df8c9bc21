package proxy

// A server that goes away is started or connected to again: at once, and then after waits that grow up to half a minute.
// Requests that it had are answered with an error, and are not repeated, since it is not known whether they were executed.
// Those that come while it is away wait and are sent once, to the server that is back (see [server.ready]). The
// questions that it had asked the client are cancelled.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Restarts come one after the other in at least this distance.
const restartDistance = 250 * time.Millisecond

// lost ends what waits for a server that has gone, and starts it again.
func (s *server) lost(generation int, err error) {
	s.mu.Lock()
	if s.closed || generation != s.generation {
		s.mu.Unlock()
		return
	}
	s.link = nil
	restart := s.away == nil
	if restart {
		s.away = make(chan struct{})
	}
	s.mu.Unlock()

	gone := fmt.Errorf("proxy: the server %q went away before it answered (%w); it is started again, look whether the call was carried out before you repeat it", s.Name, err)
	for _, one := range s.requests.takeAll() {
		one.end(nil, gone)
	}
	s.session.takeBack(s)
	if restart {
		go s.restart(err)
	}
}

// expired opens the next session with a server that no longer has this one. What was sent in it before gets its own
// answer, which may be that it was turned away too.
func (s *server) expired(generation int, err error) {
	s.mu.Lock()
	if s.closed || generation != s.generation || s.link == nil {
		s.mu.Unlock()
		return
	}
	old := s.link
	s.link = nil
	restart := s.away == nil
	if restart {
		s.away = make(chan struct{})
	}
	s.mu.Unlock()
	context.AfterFunc(s.session.ctx, old.close)
	go func() {
		s.session.takeBack(s)
		if restart {
			s.restart(err)
		}
	}()
}

// missing marks a server that could not be started as away, and tries it again.
func (s *server) missing(err error) {
	s.mu.Lock()
	s.away = make(chan struct{})
	s.mu.Unlock()
	s.fared(err)
	go s.restart(err)
}

// restart brings the server back: at once, and then after growing waits until it has shaken hands.
func (s *server) restart(why error) {
	if s.session.hopeless() {
		s.session.stop(&UnreachableError{Server: s.Name, Err: fmt.Errorf("it went away before there was any answer: %w%s", why, s.Stderr.LastWords())})
		return
	}
	if s.session.hello.value() != nil && s.version.value() == "" && len(s.session.servers) > 1 {
		<-s.session.introduced.Done() // the client shakes hands with the others first
	}
	s.mu.Lock()
	delay := time.Duration(0)
	if s.generation > 1 { // the first time at once
		delay = time.Until(s.began.Add(restartDistance))
	}
	began := s.began
	s.mu.Unlock()
	logged, what := "", "proxy: the server went away; it is started again"
	if began.IsZero() {
		what = "proxy: the server cannot be started; the others work, and it is tried again"
	}
	for ; s.session.ctx.Err() == nil; delay = s.wait.NextBackOff() {
		if sessionOver(why) {
			what = "proxy: the server no longer has the session; another one is opened"
		}
		level, words := slog.LevelWarn, why.Error()+s.Stderr.LastWords()
		if words == logged { // a program that is not installed is reported once
			level = slog.LevelDebug
		}
		logged = words
		s.log.Log(s.session.ctx, level, what,
			slog.String("why", words), slog.Duration("in", max(delay, 0)))
		select {
		case <-time.After(delay):
		case <-s.session.ctx.Done():
			return
		}
		if why = s.revive(); why == nil {
			s.log.Warn("proxy: the server is back")
			return
		}
		s.fared(why)
	}
}

// handshakePatience is how long a restarted server may take to shake hands.
const handshakePatience = time.Minute

// revive opens a new link and shakes hands on it as the client once did.
func (s *server) revive() error {
	l, err := s.dial()
	if l == nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(s.session.ctx, handshakePatience, fmt.Errorf("no answer within %v", handshakePatience))
	defer cancel()
	if err := s.session.greet(ctx, s, l); err != nil {
		go l.close()
		return err
	}
	s.resubscribe(ctx, l)
	return s.back(l)
}

// back lets requests through again, and notifies the client of the lists that were made without it.
func (s *server) back(l link) error {
	s.session.tools.announced(s)
	s.mu.Lock()
	if s.link != l { // it went away again meanwhile
		s.mu.Unlock()
		return io.ErrUnexpectedEOF
	}
	s.wait.Reset()
	close(s.away)
	s.away = nil
	s.mu.Unlock()
	s.here("tools", "prompts", "resources")
	return nil
}

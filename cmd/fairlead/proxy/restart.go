package proxy

import (
	"context"
	"encoding/json"
	"errors"
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
	for id := range s.requests.Range {
		s.requests.take(id.(string)).end(nil, gone)
	}
	s.session.takeBack(s)
	if restart {
		go s.restart(err)
	}
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
	s.mu.Unlock()
	for ; s.session.ctx.Err() == nil; delay = s.wait.NextBackOff() {
		s.log.Warn("proxy: the server went away; it is started again",
			slog.String("why", why.Error()+s.Stderr.LastWords()), slog.Duration("in", max(delay, 0)))
		select {
		case <-time.After(delay):
		case <-s.session.ctx.Done():
			return
		}
		if why = s.revive(); why == nil {
			s.log.Info("proxy: the server is back")
			return
		}
	}
}

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

// greet shakes hands with a restarted server, as the client did with the one before it.
func (s *session) greet(ctx context.Context, one *server, l link) error {
	if s.version.value() == "" { // the client's revision has no greeting
		_, err := one.exchange(ctx, l, methodDiscover, withMember(nil, "_meta", s.meta.value()), "")
		return err
	}
	answer, err := one.exchange(ctx, l, "initialize", s.hello.value(), "")
	if err != nil {
		return err
	}
	return s.welcome(ctx, one, l, answer.Result)
}

// welcome ends a handshake that the client is not part of.
func (s *session) welcome(ctx context.Context, one *server, l link, result json.RawMessage) error {
	now, level := textOf(result, "protocolVersion"), s.level.value()
	switch agreed := one.version.value(); {
	case agreed != "" && now != agreed:
		return errors.New("it speaks another revision of the protocol now")
	case agreed == "" && now < s.version.value():
		return errors.New("it speaks an older revision of the protocol than the client does with the others")
	}
	one.version.Store(now)
	if err := l.send(ctx, &message{Method: "notifications/initialized"}); err != nil || level == nil {
		return err
	}
	_, err := one.exchange(ctx, l, methodSetLevel, level, "")
	return err
}

package callstate

import "github.com/fairlead-go/fairlead/middleware"

// A Pauser returns why a call of a tool must not be sent now, since the server has asked for a pause, and nil if it may
// be sent.
type Pauser interface {
	Paused(tool *middleware.Tool) error
}

// PausedBy has the middlewares further in that wait ask p again before the call goes on.
func (s *State) PausedBy(p Pauser) {
	if s.live() {
		s.call.mu.Lock()
		defer s.call.mu.Unlock()
		s.call.pauser = p
	}
}

// Paused returns why the call must not be sent now, nil if it may.
func (s *State) Paused(tool *middleware.Tool) error {
	if !s.live() {
		return nil
	}
	s.call.mu.Lock()
	p := s.call.pauser
	s.call.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.Paused(tool)
}

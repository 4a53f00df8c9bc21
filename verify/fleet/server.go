//go:build unix

package fleet

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/rpc"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/verify/world"
)

// A Server is a server of the world over net/rpc. It ends with its process.
type Server struct {
	Address string
	Ledger  world.Ledger

	things world.Server
}

// NewServer starts a server.
func NewServer() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Address: listener.Addr().String()}
	s.things.Ledger = &s.Ledger
	served := rpc.NewServer()
	if err := served.Register(s); err != nil {
		return nil, err
	}
	go served.Accept(listener)
	return s, nil
}

// Execute executes a call. One in a hundred loses its answer after the effect.
func (s *Server) Execute(q world.Request, version *int64) error {
	*version = s.things.Execute(q.Call, q.Kind, func() { time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond) }, q.Things...)
	if isCold := len(q.Things) == 1 && strings.HasPrefix(q.Things[0], cold); !isCold && rand.IntN(100) == 0 { // a lost answer is asked for again
		return errors.New("the answer was lost")
	}
	return nil
}

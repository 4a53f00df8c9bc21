// Package fleet plays a host of several replicas, each a process of its own, on one
// Redis and one server with a ledger, and says which promises were broken.
package fleet

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/verify/world"
)

// A Server is a server of the world over HTTP. It ends with its process.
type Server struct {
	URL    string
	Ledger *world.Ledger

	things world.Server
	http   *http.Server
}

// NewServer starts a server.
func NewServer() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), Ledger: new(world.Ledger)}
	s.things.Ledger = s.Ledger
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

// ServeHTTP executes a call: a wait, its effect, another wait. One in a hundred
// loses its answer after the effect.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q world.Request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	version := s.things.Execute(q.Call, q.Kind, func() { time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond) }, q.Things()...)
	if !strings.HasPrefix(q.Item, cold) && rand.IntN(100) == 0 { // a lost answer is asked for again
		http.Error(w, "the answer was lost", http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(version)
}

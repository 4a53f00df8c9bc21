// Package fleet plays a host of several replicas, each a process of its own, on one
// Redis and one server with a ledger, and says which promises were broken.
package fleet

import (
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A server does what calls ask and writes down what it did.
type server struct {
	http *http.Server
	url  string

	mu     sync.Mutex
	seq    int64
	items  map[string]int64 // of each, the number of its last write
	ledger []execution
}

// An execution is a line of the ledger.
type execution struct {
	Call, Tool, Item string
	Began, Ended     int64 // Unix nanoseconds
}

type request struct {
	Call string `json:"call"`
	Tool string `json:"tool"`
	Item string `json:"item"`
}

func newServer() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + listener.Addr().String(), items: make(map[string]int64)}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

// ServeHTTP executes a call: a wait, its effect, another wait. One in a hundred
// loses its answer after the effect.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now().UnixNano()
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	work := func() { time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond) }
	work()
	s.mu.Lock()
	var seq int64
	switch q.Tool {
	case "get_item":
		seq = s.items[q.Item]
	case "list_items":
		seq = s.seq
	default:
		s.seq++
		seq = s.seq
		s.items[q.Item] = seq
	}
	s.mu.Unlock()
	work()
	s.mu.Lock()
	s.ledger = append(s.ledger, execution{q.Call, q.Tool, q.Item, began, time.Now().UnixNano()})
	s.mu.Unlock()
	if !strings.HasPrefix(q.Item, "cold ") && rand.IntN(100) == 0 { // a lost answer is asked for again
		http.Error(w, "the answer was lost", http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(seq)
}

// executions returns the ledger.
func (s *server) executions() []execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]execution(nil), s.ledger...)
}

package redis_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/fairleadtest/storetest"
	goredis "github.com/redis/go-redis/v9"
)

// cluster makes one of three nodes and returns its URL.
func cluster(t *testing.T) string {
	t.Helper()
	url, _ := clusterOf(t)
	return url
}

func clusterOf(t *testing.T) (url string, nodes []*redistest.Server) {
	t.Helper()
	const slots = 16384
	var clients []*goredis.Client
	for i := range 3 {
		e := redistest.New(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "1000")
		c := raw(t, e)
		if err := c.ClusterAddSlotsRange(t.Context(), slots*i/3, slots*(i+1)/3-1).Err(); err != nil {
			t.Fatal(err)
		}
		nodes, clients = append(nodes, e), append(clients, c)
	}
	for _, e := range nodes[1:] {
		if err := clients[0].ClusterMeet(t.Context(), "127.0.0.1", fmt.Sprint(e.Port)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ready := 0
		for _, c := range clients {
			info := c.ClusterInfo(t.Context()).Val()
			// A node calls the state ok while it does not know yet who has the other slots. A client that asks it then
			// takes any node for the master of those.
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, fmt.Sprint("cluster_slots_assigned:", slots)) {
				ready++
			}
		}
		if ready == 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the nodes are not a cluster")
		}
	}
	return fmt.Sprintf("redis://127.0.0.1:%d?addr=127.0.0.1:%d&addr=127.0.0.1:%d", nodes[0].Port, nodes[1].Port, nodes[2].Port), nodes
}

// A cluster keeps the same promises: what belongs together lies in one slot.
func TestCluster(t *testing.T) {
	t.Parallel()
	url := cluster(t)
	var n atomic.Int64
	storetest.Run(t, func(t *testing.T) (a, b storetest.Stores) {
		t.Helper()
		o := redis.Options{Key: key, Prefix: fmt.Sprint("test-", n.Add(1)), Timeout: patient}
		return stores(open(t, url, o)), stores(open(t, url, o))
	})
}

// Without one of its masters a cluster serves what the others hold, to a process that starts meanwhile too. What
// was written without that master is not answered from before.
func TestClusterWithoutOneMaster(t *testing.T) {
	t.Parallel()
	url, nodes := clusterOf(t)
	o := redis.Options{Key: key, Timeout: time.Second}
	s := open(t, url, o)
	at := make(map[string]string) // a server at each master
	for i := 0; len(at) < len(nodes); i++ {
		server := fmt.Sprint("server", i)
		at[s.Home(t.Context(), server)] = server
	}
	about := func(server string) cache.Read {
		return cache.Read{Server: server, ID: sha256.Sum256([]byte("who"))}
	}
	holds := func(s *redis.Store, server string) bool {
		f, err := s.Cache().Look(t.Context(), about(server))
		if err == nil && f.Ticket != "" && f.Value == nil && !f.Busy {
			s.Cache().Drop(t.Context(), about(server), f.Ticket)
		}
		return f.Value != nil
	}
	fill := func(server string) {
		eventually(t, "nothing can be kept of "+server, func() bool {
			f, err := s.Cache().Look(t.Context(), about(server))
			return err == nil && f.Ticket != "" && s.Cache().Keep(t.Context(), about(server), f.Ticket, []byte("x"), time.Hour) == nil
		})
	}
	for _, server := range at {
		fill(server)
		eventually(t, "it is found", func() bool { return holds(s, server) })
	}
	lost := at[fmt.Sprint("127.0.0.1:", nodes[0].Port)]
	nodes[0].Kill()
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
		for _, server := range at {
			began := time.Now()
			if got := holds(s, server); got != (server != lost) {
				t.Fatalf("%s without the master of %s: found %v", server, lost, got)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("a look took %v", took)
			}
		}
	}
	w := cache.Write{ID: "w", Server: lost, Until: time.Now().Add(time.Minute)}
	_ = s.Cache().Begin(t.Context(), w)
	if _, err := s.Cache().End(t.Context(), w); err == nil {
		t.Error("a write was announced to a master that is not there")
	}
	fresh := open(t, url, o)
	for _, server := range at {
		if server != lost {
			eventually(t, "a process that starts meanwhile does not find "+server, func() bool { return holds(fresh, server) })
		}
	}
	if err := nodes[0].Start(); err != nil {
		t.Fatal(err)
	}
	fill(lost)
	for _, one := range []*redis.Store{s, fresh} {
		for _, server := range at {
			eventually(t, "it is not found again", func() bool { return holds(one, server) })
		}
	}
}

// Each master of a cluster is killed in turn under load, and a copy takes its place. No replica answers what is
// older than a write that had ended, whether the copy has it or not, and no call takes longer than it may.
func TestClusterFailover(t *testing.T) { // alone, since a replica that gets no time notices that it is cut off
	url, nodes := clusterOf(t)
	first := raw(t, nodes[0])
	copies := make(map[int]*redistest.Server) // by the port of the master
	for _, e := range nodes {
		id := raw(t, e).ClusterMyID(t.Context()).Val()
		c := redistest.New(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--cluster-node-timeout", "1000")
		must(t, first.ClusterMeet(t.Context(), "127.0.0.1", fmt.Sprint(c.Port)).Err())
		eventually(t, "the copy is not part of the cluster", func() bool { return raw(t, c).ClusterReplicate(t.Context(), id).Err() == nil })
		eventually(t, "the copy is not in step", func() bool {
			return strings.Contains(raw(t, c).Info(t.Context(), "replication").Val(), "master_link_status:up")
		})
		copies[e.Port] = c
	}
	const timeout = 250 * time.Millisecond
	o := redis.Options{Key: key, Timeout: timeout}
	reads, writes := open(t, url, o), open(t, url, o)
	var servers []string // one at each master
	for i, seen := 0, make(map[string]bool); len(servers) < len(nodes); i++ {
		server := fmt.Sprint("server", i)
		if home := reads.Home(t.Context(), server); !seen[home] {
			seen[home], servers = true, append(servers, server)
		}
	}
	state := make([]struct{ now, over, looks, found atomic.Int64 }, len(servers)) // a version, and the last whose write has ended
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var longest atomic.Int64
	timed := func(do func()) {
		began := time.Now()
		do()
		for took := int64(time.Since(began)); ; {
			if was := longest.Load(); took <= was || longest.CompareAndSwap(was, took) {
				return
			}
		}
	}
	for i, server := range servers {
		st, q := &state[i], cache.Read{Server: server, ID: sha256.Sum256([]byte("who"))}
		all.Go(func() {
			for n := int64(1); ctx.Err() == nil; n++ {
				w := cache.Write{ID: fmt.Sprint(server, n), Server: server, Until: time.Now().Add(time.Second)}
				timed(func() { _ = writes.Cache().Begin(ctx, w) })
				st.now.Store(n)
				timed(func() { _, _ = writes.Cache().End(ctx, w) })
				st.over.Store(n)
				wait(ctx, 200*time.Millisecond)
			}
		})
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					least := st.over.Load()
					var f cache.Lookup
					var err error
					timed(func() { f, err = reads.Cache().Look(ctx, q) })
					st.looks.Add(1)
					switch {
					case f.Value != nil:
						st.found.Add(1)
						if got, _ := strconv.ParseInt(string(f.Value), 10, 64); got < least {
							t.Errorf("%s: got version %d, and the write of %d was over", server, got, least)
						}
					case err == nil && f.Ticket != "" && !f.Busy:
						_ = reads.Cache().Keep(ctx, q, f.Ticket, fmt.Append(nil, st.now.Load()), time.Minute)
					}
					wait(ctx, time.Millisecond)
				}
			})
		}
	}
	for _, e := range nodes {
		before := make([]int64, len(servers))
		for i := range state {
			before[i] = state[i].found.Load()
		}
		e.Kill()
		killed := time.Now()
		eventually(t, "the copy does not become a master", func() bool {
			return strings.Contains(raw(t, copies[e.Port]).Info(t.Context(), "replication").Val(), "role:master")
		})
		fresh := time.Now()
		_ = open(t, url, o).Close()
		t.Logf("a copy took over after %v; a process started in %v", fresh.Sub(killed).Round(time.Millisecond), time.Since(fresh).Round(time.Millisecond))
		for i := range state {
			eventually(t, "nothing is found of "+servers[i], func() bool { return state[i].found.Load() > before[i]+20 })
		}
		must(t, e.Start()) // as a copy
	}
	stop()
	all.Wait()
	var looks, found int64
	for i := range state {
		looks, found = looks+state[i].looks.Load(), found+state[i].found.Load()
	}
	t.Logf("%d of %d reads were answered from the cache; the longest operation took %v", found, looks, time.Duration(longest.Load()).Round(time.Millisecond))
	if most := timeout + 2*time.Second; time.Duration(longest.Load()) > most {
		t.Errorf("an operation took %v, want at most %v", time.Duration(longest.Load()), most)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

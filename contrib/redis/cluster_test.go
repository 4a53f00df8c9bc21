package redis_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/storetest"
	goredis "github.com/redis/go-redis/v9"
)

// cluster makes one of three nodes and returns its URL.
func cluster(t *testing.T) string {
	t.Helper()
	const slots = 16384
	var nodes []*redistest.Server
	var clients []*goredis.Client
	for i := range 3 {
		e := redistest.New(t, "--cluster-enabled", "yes")
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
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3") {
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
	return fmt.Sprintf("redis://127.0.0.1:%d?addr=127.0.0.1:%d&addr=127.0.0.1:%d", nodes[0].Port, nodes[1].Port, nodes[2].Port)
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

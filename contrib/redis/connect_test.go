package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

// An unusable server is a clear error at the start, without the password.
func TestOpenExplainsItsError(t *testing.T) {
	t.Parallel()
	locked := redistest.New(t, "--requirepass", "right")
	primary := redistest.New(t)
	follower := redistest.New(t, "--replicaof", fmt.Sprint("127.0.0.1 ", primary.Port))
	full := redistest.New(t, "--maxmemory", "1")
	node := redistest.New(t, "--cluster-enabled", "yes")
	silent := answers(t, func(string) string { return "" })
	web := answers(t, func(string) string { return "HTTP/1.1 400 Bad Request\r\n\r\n" })
	old := answers(t, func(command string) string {
		if command == "INFO" {
			return bulk("redis_version:6.2.14\r\nrun_id:0123456789abcdef0123456789abcdef01234567\r\n")
		}
		if command == "CLIENT" {
			return bulk("id=1 laddr=127.0.0.1:1 x\n")
		}
		if command == "HELLO" {
			return "-ERR unknown command\r\n"
		}
		return ""
	})
	const quick = 100 * time.Millisecond // the others have time: what is late has no other reason
	for name, c := range map[string]struct {
		url, want string
		timeout   time.Duration
	}{
		"no URL":              {"localhost:6379", "an example is redis://", patient},
		"another scheme":      {"http://localhost", "an example is redis://", patient},
		"nobody there":        {"redis://:hidden@127.0.0.1:1", "connection refused", patient},
		"no password":         {locked.URL(), "rejects the user or password", patient},
		"a wrong password":    {strings.Replace(locked.URL(), "//", "//:hidden@", 1), "rejects the user or password", patient},
		"a read-only replica": {follower.URL(), "read-only replica", patient},
		"full":                {full.URL(), "its memory is full", patient},
		"a node of a cluster": {node.URL(), "not ready", patient},
		"silent":              {silent, "does not answer", quick},
		"a web server":        {web, "not a usable Redis", patient},
		"too old":             {old, "version 7 or later", patient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			s, err := redis.Open(t.Context(), c.url, redis.Options{Timeout: c.timeout})
			if err == nil {
				_ = s.Close()
				t.Fatal("got no error")
			}
			if text := err.Error(); !strings.HasPrefix(text, "redis: ") || !strings.Contains(text, c.want) || strings.Contains(text, "hidden") {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

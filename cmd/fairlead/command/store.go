package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/ratelimit"
)

// keyVariable names the variable with the store's key: 64 hexadecimal digits, such as
// `openssl rand -hex 32` prints.
const keyVariable = "FAIRLEAD_STORE_KEY"

// openStore connects to the Redis of --store. Proxies in front of the same servers
// share what is in it; their credentials may differ.
func (o *proxyFlags) openStore(ctx context.Context, servers []proxy.Server, log *slog.Logger) (*redis.Store, error) {
	name := sha256.New()
	for _, s := range servers {
		fmt.Fprintf(name, "%q=%q ", s.Name, append([]string{s.URL}, s.Command...))
	}
	options := redis.Options{Prefix: "fairlead:" + hex.EncodeToString(name.Sum(nil)[:8]), Logger: log}
	if text := os.Getenv(keyVariable); text != "" {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("--store: redis: %s is not 64 hexadecimal digits; openssl rand -hex 32 prints some", keyVariable)
		}
		options.Key = key
	} else {
		options.Plain = true
		log.WarnContext(ctx, "redis: arguments and results stand in Redis as they are; "+keyVariable+" seals them")
	}
	store, err := redis.Open(ctx, o.store, options)
	if err != nil {
		return nil, fmt.Errorf("--store: %w", err)
	}
	return store, nil
}

// share puts the store into the options of the middlewares.
func (o *proxyFlags) share(store *redis.Store) func(*cache.Options, *ratelimit.Options, *hitl.Options) {
	return func(c *cache.Options, limit *ratelimit.Options, ask *hitl.Options) {
		c.Remote = store.Cache()
		limit.Shared, limit.Replicas = store.Limiter(), o.replicas
		ask.Store = store.Approvals()
	}
}

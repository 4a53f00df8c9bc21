package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/redis/go-redis/v9/logging"
)

// keyVariable names the variable with the store's key: 64 hexadecimal digits.
const keyVariable = "FAIRLEAD_STORE_KEY"

// isRedis reports whether a store is in Redis, and not in a folder. The name of a folder has
// no colon, so that an address without its scheme is an error.
func isRedis(store string) bool {
	return strings.Contains(store[len(filepath.VolumeName(store)):], ":")
}

// approvalsFile is the name of the file with the approvals of some servers.
func approvalsFile(servers string) string { return "approvals-" + servers + ".jsonl" }

// serversName is a name of these servers. Proxies in front of the same servers share what
// is in a store; their credentials may differ.
func serversName(servers []proxy.Server, folder string) string {
	name := sha256.New()
	_, _ = io.WriteString(name, folder) // it never fails
	for _, s := range servers {
		fmt.Fprintf(name, "%q=%q ", s.Name, append([]string{s.URL}, s.Command...))
	}
	return hex.EncodeToString(name.Sum(nil)[:8])
}

// openFolder opens the file of the approvals in the folder of --store.
func (o *proxyFlags) openFolder(servers []proxy.Server, log *slog.Logger) (*approvals.File, error) {
	folder, err := os.Getwd() // which the paths in arguments may begin at
	if err == nil {
		err = os.MkdirAll(o.store, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return approvals.OpenFile(filepath.Join(o.store, approvalsFile(serversName(servers, folder))), log)
}

// openStore connects to the Redis of --store.
func (o *proxyFlags) openStore(ctx context.Context, servers []proxy.Server, log *slog.Logger) (*redis.Store, error) {
	options := redis.Options{Prefix: "fairlead:" + serversName(servers, ""), Logger: log}
	if text := os.Getenv(keyVariable); text != "" {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("redis: %s is not 64 hexadecimal digits; openssl rand -hex 32 prints some", keyVariable)
		}
		options.Key = key
	} else {
		options.Plain = true
		cmp.Or(log, slog.New(slog.DiscardHandler)).WarnContext(ctx, "redis: arguments and results stand in Redis as they are; "+keyVariable+" seals them")
	}
	logging.Disable() // of the client; what it logs is in the errors that the store reports
	return redis.Open(ctx, o.store, options)
}

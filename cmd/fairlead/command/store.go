package command

// What is kept across processes: approvals in a file of a folder, in Redis or in PostgreSQL, and in Redis cached results
// and rate limits as well. Proxies share what belongs to the same servers, whoever starts them and in whichever order,
// so what is kept is under a name made of the servers alone, see serversName. It is a hash, since commands and addresses
// may be long and can have characters that a file, a key or a schema cannot.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/contrib/postgres"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
)

// keyVariable names the variable with the store's key, and after commas with others that are read too during a
// rotation; nameVariable that with the first key ever, once it is not the first there.
const (
	keyVariable  = "FAIRLEAD_STORE_KEY"
	nameVariable = "FAIRLEAD_STORE_NAME_KEY"
)

// plainFlag names the flag that takes a Redis without a key.
const plainFlag = "store-can-approve"

// registerPlain adds that flag.
func (o *proxyFlags) registerPlain(c *cobra.Command) {
	c.Flags().BoolVar(&o.plain, plainFlag, false, "take a Redis without "+keyVariable+": write access to it is then enough to approve calls")
}

// keys returns the keys in a variable.
func keys(variable string) (all [][]byte, err error) {
	for text := range strings.SplitSeq(os.Getenv(variable), ",") {
		key, err := hex.DecodeString(strings.TrimSpace(text))
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("redis: %s is not 64 hexadecimal digits; openssl rand -hex 32 prints some", variable)
		}
		all = append(all, key)
	}
	return all, nil
}

// nameKey returns the key in the variable that names what is in a store, nil for none.
func nameKey() ([]byte, error) {
	if os.Getenv(nameVariable) == "" {
		return nil, nil
	}
	all, err := keys(nameVariable)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// isRedis reports whether a store is in Redis, and not in a folder. The name of a folder has
// no colon, so that an address without its scheme is an error.
func isRedis(store string) bool {
	return strings.Contains(store[len(filepath.VolumeName(store)):], ":")
}

// approvalsFile returns the name of the file with the approvals of servers that have this name.
func approvalsFile(servers string) string { return "approvals-" + servers + ".jsonl" }

// serversName returns the name of these servers, 16 hexadecimal digits. Proxies in front of the same servers share what
// is in a store; their credentials may differ. A server that is started is the same only in
// the same folder, where its command, its arguments and those of its calls may begin.
func serversName(servers []proxy.Server) (string, error) {
	name := sha256.New()
	for _, s := range servers {
		identity := append([]string{spelled(s.URL)}, s.Command...)
		if len(s.Command) > 0 {
			folder, err := filepath.Abs(s.Dir)
			if err != nil {
				return "", err
			}
			identity = append(identity, folder)
		}
		fmt.Fprintf(name, "%q=%q ", s.Name, identity)
	}
	return hex.EncodeToString(name.Sum(nil)[:8]), nil
}

// spelled returns a URL in one of its equal spellings (RFC 3986, 6.2.2 and 6.2.3), without credentials.
func spelled(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	u = u.JoinPath() // no segments of dots
	u.User, u.Fragment, u.Path = nil, "", cmp.Or(u.Path, "/")
	u.Host = strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	return u.String()
}

// openFolder opens the file of the approvals in the folder of --store.
func (o *proxyFlags) openFolder(servers []proxy.Server, log *slog.Logger) (*approvals.File, error) {
	name, err := serversName(servers)
	if err == nil {
		err = os.MkdirAll(o.store, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return openKept(filepath.Join(o.store, approvalsFile(name)), log)
}

// openKept opens a file of approvals, unless another user could have written to it or put it there.
func openKept(name string, log *slog.Logger) (*approvals.File, error) {
	for _, its := range []string{filepath.Dir(name), name} {
		if err := owned.File(its); err != nil {
			return nil, err
		}
	}
	return approvals.OpenFile(name, log)
}

// redisTime bounds one operation of Redis; 0 means the package's own time. An approval whose answer comes later does not
// count, and the person is asked again. Tests set more, for machines with much else to do.
var redisTime time.Duration

// openStore connects to the Redis of --store.
func (o *proxyFlags) openStore(ctx context.Context, servers []proxy.Server, log *slog.Logger) (*redis.Store, error) {
	name, err := serversName(servers)
	if err != nil {
		return nil, err
	}
	options := redis.Options{Prefix: "fairlead:" + name, Logger: log, Timeout: redisTime}
	if o.observed != nil {
		options.Observe = o.observed("redis")
	}
	if os.Getenv(keyVariable) != "" {
		all, err := keys(keyVariable)
		if err != nil {
			return nil, err
		}
		options.Key, options.OtherKeys = all[0], all[1:]
		if options.NameKey, err = nameKey(); err != nil {
			return nil, err
		}
	} else if options.Plain = o.plain; !o.plain {
		return nil, fmt.Errorf("redis: %s is not set, so that write access to this Redis would be enough to answer for a person, and to read arguments and results; "+
			"set it to what openssl rand -hex 32 prints, the same in every replica, or accept that with --%s", keyVariable, plainFlag)
	} else {
		cmp.Or(log, slog.New(slog.DiscardHandler)).WarnContext(ctx, "redis: write access to this Redis is enough to answer for a person, and to read arguments and results; "+keyVariable+" seals them")
	}
	logging.Disable() // of the client; what it logs is in the errors that the store reports
	return redis.Open(ctx, o.store, options)
}

// openApprovals connects to the PostgreSQL of --approvals, where these servers have a schema.
func (o *proxyFlags) openApprovals(ctx context.Context, servers []proxy.Server, log *slog.Logger) (*postgres.Store, error) {
	if o.store != "" && !isRedis(o.store) {
		return nil, errors.New("--approvals: the folder of --store keeps approvals already; leave one of the two out")
	}
	name, err := serversName(servers)
	if err != nil {
		return nil, err
	}
	options := postgres.Options{Schema: "fairlead_" + name, Logger: log}
	if o.observed != nil {
		options.Observe = o.observed("postgresql")
	}
	store, err := postgres.Open(ctx, o.approvals, options)
	if err != nil {
		return nil, fmt.Errorf("--approvals: %w", err)
	}
	return store, nil
}

// Package opener opens the stores of this module's programs.
package opener

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/internal/stores"
)

// keyVariable is where a program's key is: 64 hexadecimal digits, such as
// `openssl rand -hex 32` prints.
const keyVariable = "FAIRLEAD_STORE_KEY"

// Open implements [stores.Opener]. A person who gives --store without a key has
// said that contents may stand there as they are.
func Open(ctx context.Context, url, name string, log *slog.Logger) (stores.Stores, error) {
	sum := sha256.Sum256([]byte(name))
	o := redis.Options{Prefix: "fairlead:" + hex.EncodeToString(sum[:8]), Logger: log}
	if text := os.Getenv(keyVariable); text != "" {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != 32 {
			return stores.Stores{}, fmt.Errorf("redis: %s is not 64 hexadecimal digits; openssl rand -hex 32 prints some", keyVariable)
		}
		o.Key = key
	} else {
		o.Plain = true
		log.WarnContext(ctx, "redis: arguments and results stand in Redis as they are; "+keyVariable+" seals them")
	}
	s, err := redis.Open(ctx, url, o)
	if err != nil {
		return stores.Stores{}, err
	}
	return stores.Stores{Cache: s.Cache(), Limiter: s.Limiter(), Approvals: s.Approvals(), Board: s.Board(), Close: s.Close}, nil
}

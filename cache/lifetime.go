package cache

import (
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/callstate"
	"github.com/fairlead-go/fairlead/middleware"
)

const (
	defaultEntries = 1000
	defaultBytes   = 64 << 20
	defaultTTL     = 5 * time.Minute
	shortTTL       = 30 * time.Second // shared reads, idempotent writes
	defaultSlow    = 500 * time.Millisecond
)

// notCacheable returns why the call cannot be found again, "" if it can. A tool
// without a digest may have another definition the next time.
func notCacheable(call *middleware.Call) string {
	switch {
	case call.Input != nil:
		return "it answers what the server asked for"
	case callstate.HasMeta(call.Meta):
		return "its _meta may change the result"
	case len(call.Params) > 0:
		return "its params may change the result"
	case len(call.Arguments) > maxArguments:
		return "its arguments are too long"
	case call.Tool.Digest == middleware.Digest{}:
		return "its definition has no digest"
	}
	return ""
}

// lifetime returns how long results of the tool, of that class, are used, 0 if they are not
// cached. It also returns why identical calls do not share one result, "" if they do.
func (c *cacher) lifetime(tool *middleware.Tool, class annotation.Safety) (ttl time.Duration, why string) {
	a := &tool.Annotations
	switch {
	case a.Secret == annotation.Yes:
		return 0, "its result is a secret"
	case class == annotation.Safe && a.Freshness == annotation.Stable:
		ttl = c.TTL
	case class == annotation.Safe && a.Freshness == annotation.Shared, c.Idempotent && class == annotation.Moderate && a.SafeToRetry():
		ttl = min(c.TTL, shortTTL)
	case class != annotation.Safe:
		return 0, "it may change the server"
	default:
		why = "its result is volatile"
	}
	if c.Lifetime != nil {
		if ttl = c.Lifetime(tool, ttl); ttl > 0 {
			why = ""
		}
	}
	return ttl, why
}

func (c *cacher) will(tool *middleware.Tool) string {
	if tool == nil {
		return "never cache"
	}
	class := tool.Safety()
	switch ttl, why := c.lifetime(tool, class); {
	case ttl > 0:
		return "cache for " + ttl.String()
	case why == "":
		return "join calls in flight"
	case class == annotation.Safe:
		return "never cache, " + why
	}
	return "never cache"
}

package redis_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/internal/enginetest"
	goredis "github.com/redis/go-redis/v9"
)

// A hit against a bare GET of the same bytes.
func BenchmarkHit(b *testing.B) {
	e := enginetest.Of(b)
	for _, size := range []int{200, 4000, 64000} {
		value := []byte(strings.Repeat("x", size))
		o, err := goredis.ParseURL(e.URL())
		if err != nil {
			b.Fatal(err)
		}
		bare := goredis.NewClient(o)
		defer bare.Close()
		bare.Set(b.Context(), "bare", value, 0)
		b.Run(fmt.Sprint(size, "/bare"), func(b *testing.B) {
			for b.Loop() {
				if _, err := bare.Get(context.Background(), "bare").Bytes(); err != nil {
					b.Fatal(err)
				}
			}
		})
		for name, o := range map[string]redis.Options{"plain": {Plain: true}, "sealed": {Key: key}} {
			s, err := redis.Open(b.Context(), e.URL(), o)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			c, q := s.Cache(), cache.Question{Server: "crm" + name, ID: sha256.Sum256(value)}
			f, err := c.Look(b.Context(), q)
			if err != nil {
				b.Fatal(err)
			}
			if err := c.Keep(b.Context(), q, f.Ticket, value, time.Hour); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprint(size, "/", name), func(b *testing.B) {
				for b.Loop() {
					if f, err := c.Look(context.Background(), q); err != nil || f.Value == nil {
						b.Fatal(f, err)
					}
				}
			})
		}
	}
}

package redis_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

// BenchmarkHit times in turn, by the clock, a bare GET of so many bytes, the same and AES-GCM's
// opening of them, and hits; it reports medians as multiples of the bare GET's. A sealed value
// cannot cost less than GET and open.
func BenchmarkHit(b *testing.B) {
	e := redistest.New(b)
	bare := raw(b, e)
	block, err := aes.NewCipher(key)
	if err != nil {
		b.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		b.Fatal(err)
	}
	plain, sealed := open(b, e.URL(), redis.Options{Plain: true, Prefix: "plain"}), open(b, e.URL(), redis.Options{Key: key})
	for _, size := range []int{200, 4000, 64000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ctx, value := b.Context(), bytes.Repeat([]byte("x"), size)
			bare.Set(ctx, "bare", value, 0)
			bare.Set(ctx, "bare and sealed", aead.Seal(nil, nil, value, nil), 0)
			hit := func(s *redis.Store) func() error {
				q := cache.Read{Server: "crm", ID: sha256.Sum256(value)}
				f, err := s.Cache().Look(ctx, q)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Cache().Keep(ctx, q, f.Ticket, value, time.Hour); err != nil {
					b.Fatal(err)
				}
				return func() error {
					f, err := s.Cache().Look(ctx, q)
					if err == nil && len(f.Value) != size {
						err = errMissed
					}
					return err
				}
			}
			ways := []struct {
				name string
				do   func() error
				took []time.Duration
			}{
				{name: "GET", do: func() error { _, err := bare.Get(ctx, "bare").Bytes(); return err }},
				{name: "GET+open", do: func() error {
					text, err := bare.Get(ctx, "bare and sealed").Bytes()
					if err == nil {
						_, err = aead.Open(text[:0], nil, text, nil)
					}
					return err
				}},
				{name: "plain", do: hit(plain)},
				{name: "sealed", do: hit(sealed)},
			}
			for b.Loop() {
				for i := range ways {
					began := time.Now()
					if err := ways[i].do(); err != nil {
						b.Fatal(ways[i].name, err)
					}
					ways[i].took = append(ways[i].took, time.Since(began))
				}
			}
			median := func(i int) float64 {
				slices.Sort(ways[i].took)
				return float64(ways[i].took[len(ways[i].took)/2])
			}
			for i, way := range ways {
				b.ReportMetric(median(i)/median(0), way.name+"/GET")
			}
			b.ReportMetric(median(0), "ns/GET")
		})
	}
}

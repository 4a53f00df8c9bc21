package redis_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

// A second Close, such as a deferred one, returns no error.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.New(t).URL(), redis.Options{Plain: true, Timeout: patient})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

package redis_test

import (
	"testing"

	"github.com/fairlead-go/fairlead/contrib/redis"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
)

// Who closes twice, as a deferred Close behind another one does, is not told of a fault.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.New(t).URL(), redis.Options{Plain: true, Timeout: patient})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

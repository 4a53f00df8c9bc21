package preflight_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
)

type deaf struct{ end chan struct{} }

func (d deaf) Resolve(context.Context, middleware.Call) (annotation.Annotations, bool, error) {
	<-d.end
	return annotation.ReadOnly(), true, nil
}

func TestResolverThatIgnoresItsContextIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deaf{make(chan struct{})}
		var class annotation.Safety
		caller := preflight.New(preflight.Options{Resolver: d, Trusted: everyone})(middleware.ToolCallerFunc(
			func(_ context.Context, call middleware.Call) (*mcpResult, error) {
				class = call.Tool.Safety()
				return new(mcpResult), nil
			}))
		begin := time.Now()
		go func() { // so that the test ends without a bound
			time.Sleep(time.Hour)
			close(d.end)
		}()
		_, err := caller.CallTool(t.Context(), middleware.Call{Tool: act(t, annotation.Destructive(), true), Arguments: json.RawMessage(`{}`)})
		if took := time.Since(begin); err != nil || took > 5*time.Second {
			t.Errorf("it took %v and ended as %v", took, err)
		}
		if class != annotation.Dangerous {
			t.Errorf("the class is %s, want the one that was declared", class)
		}
		<-d.end
		synctest.Wait()
	})
}

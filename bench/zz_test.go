package main
import ("testing";"github.com/fairlead-go/fairlead/cache";"github.com/fairlead-go/fairlead/middleware")
func BenchmarkFresh(b *testing.B){ f:=asking(func(s *server) middleware.ToolCaller { return ours(s, cache.Options{}) }, 200, true); b.ReportAllocs(); for b.Loop(){ if err:=f(1);err!=nil{b.Fatal(err)} } }
func BenchmarkPlain(b *testing.B){ f:=callPlain().ours; b.ReportAllocs(); for b.Loop(){ if err:=f(1);err!=nil{b.Fatal(err)} } }
func BenchmarkMiss(b *testing.B){ f:=missPlain().ours; b.ReportAllocs(); for b.Loop(){ if err:=f(1);err!=nil{b.Fatal(err)} } }
func BenchmarkMissDeadline(b *testing.B){ f:=missDeadline().ours; b.ReportAllocs(); for b.Loop(){ if err:=f(1);err!=nil{b.Fatal(err)} } }

//go:build unix

// Package outages runs two replicas of the built proxy with twenty clients and an approver, breaks one thing after the
// other beneath them, and judges what was executed, recorded and answered.
package outages

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/postgres/postgrestest"
	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/verify/internal/repo"
)

var (
	program string // that was built
	length  = flag.Duration("length", 2*time.Minute, "of each run")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(repo.WithProgram(m.Run, &program))
}

const clients = 20

// A rig is everything that runs.
type rig struct {
	t        *testing.T
	redis    *redistest.Server
	postgres *postgrestest.Server // nil in the run without
	issuer   *issuer
	ledger   *ledger
	replicas [2]*replica
	person   *approver
	began    time.Time
	full     string // the folder of the first replica's record, if it is a disk of its own
}

// A trouble is something that happens to the rig, and ends.
type trouble struct {
	name string
	do   func(r *rig, d time.Duration)
}

// troubles are done one after the other, with as much time between them as each takes.
var troubles = []trouble{
	{"Redis is stopped", func(r *rig, d time.Duration) { r.must(r.redis.Pause()); time.Sleep(d); r.must(r.redis.Resume()) }},
	{"Redis is killed, and comes back empty", func(r *rig, d time.Duration) { r.redis.Kill(); time.Sleep(d); r.must(r.redis.Start()) }},
	{"PostgreSQL is killed", func(r *rig, d time.Duration) {
		if r.postgres != nil {
			r.postgres.Kill()
			time.Sleep(d)
			r.must(r.postgres.Start())
		}
	}},
	{"a replica is killed", func(r *rig, d time.Duration) {
		r.replicas[1].signal(syscall.SIGKILL)
		time.Sleep(d)
		r.replicas[1].start()
	}},
	{"a replica is restarted", func(r *rig, _ time.Duration) { r.replicas[0].signal(syscall.SIGTERM); r.replicas[0].start() }},
	{"a replica is stopped", func(r *rig, d time.Duration) { r.replicas[1].suspend(); time.Sleep(d); r.replicas[1].resume() }},
	{"the disk of a record is full", func(r *rig, d time.Duration) {
		if r.full != "" {
			name := filepath.Join(r.full, "other")
			fill(name)
			time.Sleep(d)
			r.must(os.Remove(name))
		}
	}},
	{"a record is rotated by another program", func(r *rig, _ time.Duration) {
		name := r.replicas[0].record
		r.must(os.Rename(name, name+".1"))
		r.must(os.Rename(name+".head", name+".1.head"))
		r.replicas[0].hangUp()
	}},
	{"the server loses answers, and refuses", func(r *rig, d time.Duration) { r.ledger.moody.Store(true); time.Sleep(d); r.ledger.moody.Store(false) }},
	{"one user floods the proxy", func(r *rig, d time.Duration) { r.flood(d) }},
}

// fill writes a file until the disk has no room.
func fill(name string) {
	f, err := os.Create(name)
	if err != nil {
		return
	}
	defer f.Close()
	for block := make([]byte, 4<<10); err == nil; {
		_, err = f.Write(block)
	}
}

func (r *rig) must(err error) {
	if err != nil {
		r.t.Error(err)
	}
}

// While stores, disks and the server fail beneath two replicas, no write is made twice, without its record or without its
// approval, and no client gets the answer that a call was not made which was. Afterwards everything works again, without a restart that is not one of the troubles.
func TestOutages(t *testing.T) {
	if os.Getenv("FAIRLEAD_LONG") != "1" {
		t.Skip("set FAIRLEAD_LONG=1 to run")
	}
	if err := repo.DependsOnCode(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Redis", "Redis and PostgreSQL"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, name != "Redis")
			ctx, stop := context.WithTimeout(t.Context(), *length)
			defer stop()
			var working sync.WaitGroup
			var all [clients]*client
			for i := range all {
				all[i] = r.client(fmt.Sprintf("user%d@example.com", i), i)
				working.Go(func() { all[i].work(ctx) })
			}
			working.Go(func() { r.person.work(ctx) })
			share := *length / time.Duration(2*len(troubles)+2)
			time.Sleep(share)
			for _, one := range troubles {
				began := time.Now()
				one.do(r, share)
				t.Logf("%5.1f s: %s, for %v", began.Sub(r.began).Seconds(), one.name, time.Since(began).Round(100*time.Millisecond))
				time.Sleep(share)
			}
			<-ctx.Done()
			working.Wait()
			r.worksAgain(all[:])
			r.judge(all[:])
		})
	}
}

// start starts the stores, the server, the issuer and the replicas.
func start(t *testing.T, durable bool) *rig {
	t.Helper()
	r := &rig{t: t, redis: redistest.New(t), issuer: newIssuer(t), ledger: newLedger(t), began: time.Now()}
	if durable {
		r.postgres = postgrestest.New(t)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	access := write("access.json", fmt.Sprintf(`{"hosts": ["127.0.0.1"], "tokens": {"issuer": %q, "audience": "here"}, "approvers": ["ann"]}`, r.issuer.url))
	policy := write("policy.json", `{"trust": ["ledger"], "approvals": {"by": ["web"], "timeout": "20s"}, "cache": {"*": "5s"},
		"tools": [{"tool": "ledger/add_item", "auditRequired": true}, {"tool": "ledger/delete_item", "auditRequired": true}]}`)
	for i := range r.replicas {
		folder := filepath.Join(dir, fmt.Sprint("replica", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			r.full = ownDisk(t, folder)
		}
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		one := &replica{t: t, at: free.Addr().String(), record: filepath.Join(folder, "calls.jsonl")}
		_ = free.Close()
		one.args = []string{
			"proxy", "--listen", one.at, "--access", access, "--policy", policy, "--store", r.redis.URL(), "--replicas", "2", "--approve", "web", "--reach", "none",
			"--audit", one.record, "--server", "ledger=" + r.ledger.url,
		}
		if i == 1 {
			one.args = append(one.args, "--audit-size", "1")
		}
		if durable {
			one.args = append(one.args, "--approvals", r.postgres.URL())
		}
		r.replicas[i] = one
		one.start()
		t.Cleanup(one.end)
		for end := time.Now().Add(30 * time.Second); one.readyz() != "ok"; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a replica does not start")
			}
		}
	}
	r.person = &approver{rig: r, token: r.issuer.token("ann"), decided: make(map[string]bool)}
	return r
}

// ownDisk mounts a small disk, and returns its folder, "" if this process may not.
func ownDisk(t *testing.T, folder string) string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=64m", "none", folder).CombinedOutput(); err != nil {
		t.Logf("SKIPPED, NOT TESTED: the disk that is full: %v: %s", err, strings.TrimSpace(string(out)))
		return ""
	}
	t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", "-l", folder).Run() })
	return folder
}

package forward_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/forward"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/leodido/go-syslog/v4"
	"github.com/leodido/go-syslog/v4/octetcounting"
	"github.com/leodido/go-syslog/v4/rfc5424"
)

// received reads the messages of a socket by another implementation of the protocol than the one that wrote them.
type received chan *rfc5424.SyslogMessage

func (r received) takes(t *testing.T, m syslog.Message, err error) {
	parsed, ok := m.(*rfc5424.SyslogMessage)
	if err != nil || !ok {
		t.Errorf("a message is not one of RFC 5424: %v", err)
		return
	}
	r <- parsed
}

// packets reads datagrams.
func packets(t *testing.T, c net.PacketConn) received {
	r := make(received, 1000)
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for buffer := make([]byte, 1<<17); ; {
			n, _, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			m, err := rfc5424.NewParser().Parse(bytes.Clone(buffer[:n]))
			r.takes(t, m, err)
		}
	}()
	return r
}

// streams reads connections, and ends each after so many messages; 0 is for none.
func streams(t *testing.T, l net.Listener, most int) received {
	r := make(received, 1000)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				n := 0
				octetcounting.NewParser(syslog.WithMaxMessageLength(1<<20), syslog.WithListener(func(got *syslog.Result) {
					if got.Error != nil && got.Message == nil {
						return // the end of the connection
					}
					r.takes(t, got.Message, got.Error)
					if n++; n == most {
						_ = c.Close()
					}
				})).Parse(c)
			}()
		}
	}()
	return r
}

// certificates writes a certificate of 127.0.0.1 that signs itself, and its key.
func certificates(t *testing.T) (ca string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "logs"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca, tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func listenPackets(t *testing.T, network, address string) net.PacketConn {
	t.Helper()
	c, err := new(net.ListenConfig).ListenPacket(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// short returns a folder whose name is short enough for sockets.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "log") //nolint:usetesting // the name of t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A syslog server gets each record as a message of RFC 5424, over each kind of socket.
func TestSyslogServerGetsRecords(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(t *testing.T) (address string, got received){
		"udp": func(t *testing.T) (string, received) {
			c := listenPackets(t, "udp", "127.0.0.1:0")
			return "udp://" + c.LocalAddr().String(), packets(t, c)
		},
		"a socket for datagrams": func(t *testing.T) (string, received) {
			name := filepath.Join(short(t), "log")
			return "unix://" + name, packets(t, listenPackets(t, "unixgram", name))
		},
		"a socket for streams": func(t *testing.T) (string, received) {
			name := filepath.Join(short(t), "log")
			return "unix://" + name, streams(t, listen(t, "unix", name), 0)
		},
		"tcp": func(t *testing.T) (string, received) {
			l := listen(t, "tcp", "127.0.0.1:0")
			return "tcp://" + l.Addr().String(), streams(t, l, 0)
		},
		"tls": func(t *testing.T) (string, received) {
			ca, pair := certificates(t)
			l := tls.NewListener(listen(t, "tcp", "127.0.0.1:0"), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
			return "tls://" + l.Addr().String() + "?ca=" + ca, streams(t, l, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, got := serve(t)
			p, err := forward.Syslog(address)
			if err != nil {
				t.Fatal(err)
			}
			q := forward.New("syslog", p, nil, func(_ context.Context, err error) {
				if err != nil {
					t.Error(err)
				}
			})
			texts := []string{`{"id":"7"}`, `{"id":"line\nbreak \u003c13\u003e1 é ]"}`, `"` + strings.Repeat("x", 100<<10) + `"`}
			for n, text := range texts {
				q.Add(record(int64(n+1), text))
			}
			for n, text := range texts {
				m := mcptest.Wait(t, "a message", got)
				if *m.Priority != 13*8+6 || *m.Appname != "fairlead" || *m.MsgID != "intent" || *m.ProcID != strconv.Itoa(os.Getpid()) || m.Hostname == nil {
					t.Errorf("got %+v", m)
				}
				if want := time.Date(2026, 11, 27, 9, 0, 0, (n+1)*1000, time.UTC); !m.Timestamp.Equal(want) {
					t.Errorf("of %v, want %v", m.Timestamp, want)
				}
				whole := strings.Contains(*m.Message, `"arguments":`+text)
				if isLong := len(text) > 60<<10; whole == (isLong && (name == "udp" || name == "a socket for datagrams")) || !strings.HasPrefix(*m.Message, `{"time":"2026-11-27T09:00:00.`) {
					t.Errorf("with all arguments: %v; %.300s", whole, *m.Message)
				}
			}
			if err := q.Close(t.Context()); err != nil || q.Use().Lost != 0 {
				t.Errorf("%v, %+v", err, q.Use())
			}
		})
	}
}

// A connection that the server ends between two records loses neither.
func TestSyslogServerThatEndsConnections(t *testing.T) {
	t.Parallel()
	l := listen(t, "tcp", "127.0.0.1:0")
	got := streams(t, l, 1)
	p, err := forward.Syslog("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if sent, err := p.Send(t.Context(), copies(t, int64(n))); sent != 1 || err != nil {
			t.Fatalf("got %d, %v", sent, err)
		}
		if m := mcptest.Wait(t, "a message", got); !strings.Contains(*m.Message, `"n":`+strconv.Itoa(n)) && n > 0 {
			t.Errorf("got %s", *m.Message)
		}
		mcptest.Wait(t, "the end of the connection", forward.Broken(p))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// copies returns one copy of a record.
func copies(t *testing.T, n int64) []forward.Copy {
	t.Helper()
	c, err := forward.Copied(record(n, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	return []forward.Copy{c}
}

// A server whose certificate does not count gets nothing, and neither does one that is not there.
func TestSyslogServerThatIsRefused(t *testing.T) {
	t.Parallel()
	_, pair := certificates(t)
	l := tls.NewListener(listen(t, "tcp", "127.0.0.1:0"), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	got := streams(t, l, 0)
	for address, want := range map[string]string{
		"tls://" + l.Addr().String():                        "certificate",
		"tcp://127.0.0.1:1":                                 "refused",
		"unix://" + filepath.Join(short(t), "nothing.sock"): "no such file",
	} {
		p, err := forward.Syslog(address)
		if err != nil {
			t.Fatal(err)
		}
		if sent, err := p.Send(t.Context(), copies(t, 1)); sent != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d, %v", address, sent, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(got) != 0 {
		t.Error("a server without a certificate that counts got a record")
	}
}

// An address that is not one is refused at the start, with what is wanted.
func TestAddressesOfSyslogServers(t *testing.T) {
	t.Parallel()
	ca, _ := certificates(t)
	for address, want := range map[string]string{
		"":                                 "want unix:///PATH",
		"logs.example:514":                 "want unix:///PATH",
		"http://logs.example":              "want unix:///PATH",
		"unix://dev/log":                   "want unix:///PATH",
		"udp://":                           "want unix:///PATH",
		"udp://:514":                       "want unix:///PATH",
		"tcp://ann:secret@logs.example":    "want unix:///PATH",
		"tcp://logs.example/path":          "want unix:///PATH",
		"tcp://logs.example?ca=" + ca:      "for tls:// alone",
		"tls://logs.example?CA=" + ca:      `unknown "CA"`,
		"tls://logs.example?ca=nothing":    "no such file",
		"tls://logs.example?key=" + ca:     "no such file",
		"tls://logs.example?ca=" + "%zz":   "invalid URL escape",
		"udp://logs.example":               "",
		"tcp://[::1]:601":                  "",
		"tls://logs.example?ca=" + ca:      "",
		"unix:///dev/log":                  "",
		"tls://logs.example:6514?ca=" + ca: "",
	} {
		t.Run("B432: "+address, func(t *testing.T) {
			t.Parallel()
			_, err := forward.Syslog(address)
			if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

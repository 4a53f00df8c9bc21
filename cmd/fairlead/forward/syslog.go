package forward

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"

	"github.com/leodido/go-syslog/v4/rfc5424"
)

const (
	// priority is the facility "log audit" (13) with the severity "informational" (6), see RFC 5424, 6.2.1.
	priority = 13*8 + 6
	// maxDatagram is how many bytes one may have; a longer message is sent without the texts of its call.
	maxDatagram = 60 << 10

	syslogPort    = "514"  // of UDP
	syslogTCPPort = "601"  // RFC 3195; what servers listen at differs
	syslogTLSPort = "6514" // RFC 5425
)

// A syslog is a place that messages of RFC 5424 are sent to: each in a datagram (RFC 5426), or in a stream with its length
// in front (RFC 6587 and, over TLS, RFC 5425). The protocol has no answers: what was under way when a connection breaks may
// be lost.
type syslog struct {
	network, address string // "unixgram" or "unix" for a socket, which may be either
	tls              *tls.Config
	host, pid        string

	conn   net.Conn
	broken chan struct{} // closed once the other side has ended the connection
}

// Syslog returns a place at an address: unix:///dev/log, udp://HOST, tcp://HOST or tls://HOST, each HOST with :PORT if it is
// not the usual one. With TLS, "ca", "certificate" and "key" in the query name files. Nothing is sent yet.
func Syslog(address string) (Place, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	s := &syslog{network: u.Scheme, address: u.Host, pid: strconv.Itoa(os.Getpid())}
	if s.host, err = os.Hostname(); err != nil || s.host == "" {
		s.host = "-"
	}
	usual := map[string]string{"udp": syslogPort, "tcp": syslogTCPPort, "tls": syslogTLSPort}[u.Scheme]
	switch {
	case u.Scheme == "unix" && u.Path != "" && u.Host == "":
		s.network, s.address = "unixgram", u.Path
	case usual == "" || u.Hostname() == "" || u.Path != "" || u.User != nil:
		return nil, errors.New("want unix:///PATH, udp://HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT")
	case u.Port() == "":
		s.address = net.JoinHostPort(u.Hostname(), usual)
	}
	if u.Scheme == "tls" {
		s.network = "tcp"
		s.tls, err = clientTLS(u)
	} else if u.RawQuery != "" {
		err = errors.New(`"?" with files is for tls:// alone`)
	}
	return s, err
}

// clientTLS reads the files that the query of an address names.
func clientTLS(u *url.URL) (*tls.Config, error) {
	c := &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	for name := range q {
		if name != "ca" && name != "certificate" && name != "key" {
			return nil, fmt.Errorf("unknown %q; want ca, certificate or key", name)
		}
	}
	if name := q.Get("ca"); name != "" {
		text, err := os.ReadFile(name) //nolint:gosec // the operator names it
		if err != nil {
			return nil, err
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", name)
		}
	}
	if certificate, key := q.Get("certificate"), q.Get("key"); certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func (s *syslog) Send(ctx context.Context, copies []Copy) (sent int, err error) {
	defer func() {
		if err != nil {
			s.hangUp()
		}
	}()
	if s.conn != nil {
		select {
		case <-s.broken:
			s.hangUp()
		default:
		}
	}
	if s.conn == nil {
		if err := s.dial(ctx); err != nil {
			return 0, err
		}
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := s.conn.SetWriteDeadline(deadline); err != nil {
			return 0, err
		}
	}
	for _, c := range copies {
		text, err := s.message(c)
		if err == nil {
			_, err = s.conn.Write(text)
		}
		if err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// dial connects. A socket takes datagrams or is a stream, and its name is the same for both.
func (s *syslog) dial(ctx context.Context) (err error) {
	d := new(net.Dialer)
	switch {
	case s.tls != nil:
		s.conn, err = (&tls.Dialer{NetDialer: d, Config: s.tls}).DialContext(ctx, s.network, s.address)
	case s.network == "unixgram":
		if s.conn, err = d.DialContext(ctx, "unixgram", s.address); err != nil {
			s.conn, err = d.DialContext(ctx, "unix", s.address)
		}
	default:
		s.conn, err = d.DialContext(ctx, s.network, s.address)
	}
	if err != nil {
		s.conn = nil // and no connection of another type
		return err
	}
	if s.broken = make(chan struct{}); s.streams() {
		go watch(s.conn, s.broken)
	}
	return nil
}

// watch reads what a syslog server never sends, so that the end of a connection is known before a message is lost in it.
func watch(conn net.Conn, broken chan<- struct{}) {
	defer close(broken)
	for buffer := make([]byte, 512); ; {
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
}

// streams reports whether the connection has no bounds of messages of its own.
func (s *syslog) streams() bool {
	switch s.conn.RemoteAddr().Network() {
	case "udp", "unixgram":
		return false
	}
	return true
}

// message returns the bytes of a message.
func (s *syslog) message(c Copy) ([]byte, error) {
	text, err := s.format(c, c.Text)
	if err != nil {
		return nil, err
	}
	if s.streams() {
		return append(strconv.AppendInt(nil, int64(len(text)), 10), " "+text...), nil
	}
	if len(text) > maxDatagram && c.Short != nil {
		text, err = s.format(c, c.Short)
	}
	return []byte(text), err
}

func (s *syslog) format(c Copy, body []byte) (string, error) {
	m := new(rfc5424.SyslogMessage)
	m.SetPriority(priority)
	m.SetVersion(1)
	m.SetTimestamp(c.Record.Time.UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	m.SetHostname(s.host)
	m.SetAppname("fairlead")
	m.SetProcID(s.pid)
	m.SetMsgID(string(c.Record.Kind))
	m.SetMessage(string(body))
	return m.String()
}

func (s *syslog) hangUp() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

func (s *syslog) Close() error {
	s.hangUp()
	return nil
}

package access

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// renewEvery is how often the keys of the issuer are fetched anew, so that one that it has taken back ends. They are
	// also fetched for a token of a key that is not known, once in fetchEvery.
	renewEvery = 10 * time.Minute
	// renewAgain is when that is tried again after it failed.
	renewAgain = time.Minute
	fetchEvery = 10 * time.Second
	// oldest is how long keys count that could not be renewed.
	oldest = time.Hour
)

// errOld refuses tokens once the keys are too old.
var errOld = &AwayError{errors.New("its keys could not be renewed for an hour, so no token counts; see /readyz")}

// An AwayError is returned for an issuer that cannot be reached now. Any other error of it stays until somebody mends it.
type AwayError struct{ err error }

func (e *AwayError) Error() string {
	return "access: the issuer of the tokens is away: " + e.err.Error()
}
func (e *AwayError) Unwrap() error { return e.err }

// An issuer verifies tokens by the keys that it fetched last.
type issuer struct {
	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	renewed  time.Time

	missed atomic.Pointer[chan struct{}] // of Watch: a token could not be checked, since no keys came
}

func (i *issuer) verify(ctx context.Context, token string) (*oidc.IDToken, error) {
	i.mu.Lock()
	verifier, renewed := i.verifier, i.renewed
	i.mu.Unlock()
	if time.Since(renewed) > oldest {
		return nil, errOld
	}
	var failed error
	t, err := verifier.Verify(context.WithValue(ctx, failedKey{}, &failed), token)
	if err != nil && failed != nil {
		if missed := i.missed.Load(); missed != nil {
			select {
			case *missed <- struct{}{}:
			default: // it is known
			}
		}
		return nil, &AwayError{failed}
	}
	return t, err
}

type failedKey struct{}

// A keySet sets the error of a context to that of keys that could not be fetched, which the verifier does not wrap.
type keySet struct{ oidc.KeySet }

func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, token)
	if failed, ok := ctx.Value(failedKey{}).(*error); ok && notFetched(err) {
		*failed = err
	}
	return payload, err
}

// notFetched reports whether an error of a set of keys is that they could not be fetched.
func notFetched(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "fetching keys") }

// A client asks the issuer. An answer of a server that is overloaded, or away behind its gateway, is an error.
var client = &http.Client{Timeout: patience, Transport: answering{}}

type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && (res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests) {
		_ = res.Body.Close()
		return nil, &AwayError{fmt.Errorf("it answers HTTP %s", res.Status)}
	}
	return res, err
}

// A seldom fetches the keys of an issuer once in [fetchEvery], however many tokens name a key that is not among them, since
// anyone can write such a token. Between two times the last answer is repeated, also if there was none. The time begins
// with the first fetch for a token, so that a key which is new since the keys were renewed counts at once.
type seldom struct {
	next http.RoundTripper

	mu      sync.Mutex
	renewed bool
	fetched time.Time
	last    http.Response
	body    []byte
	err     error
}

// maxKeys is how many bytes the keys of an issuer may have.
const maxKeys = 1 << 20

func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.fetched) >= fetchEvery {
		res, err := s.next.RoundTrip(r)
		if err == nil {
			s.last = *res
			s.body, err = io.ReadAll(io.LimitReader(res.Body, maxKeys))
			_ = res.Body.Close()
		}
		if s.err = err; s.renewed {
			s.fetched = time.Now()
		}
		s.renewed = true
	}
	if s.err != nil {
		return nil, s.err
	}
	res := s.last
	res.Request, res.Body = r, io.NopCloser(bytes.NewReader(s.body))
	return &res, nil
}

// unreachable returns an error that time may mend as an [AwayError]. A certificate that does not count is not one.
func unreachable(err error) error {
	if _, already := errors.AsType[*AwayError](err); already || err == nil {
		return err
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, network := errors.AsType[net.Error](err)
	if !certificate && (network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return &AwayError{err}
	}
	return fmt.Errorf("access: the issuer of the tokens: %w", err)
}

// Renew fetches the keys of the issuer. Those of before are dropped, unless there is an error, which is an [AwayError] if
// the issuer cannot be reached. Without tokens it does nothing.
func (a *Access) Renew(ctx context.Context) error {
	if a.Tokens == nil {
		return nil
	}
	within, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), patience)
	defer cancel()
	if err := a.renew(within); ctx.Err() == nil {
		return a.counting(unreachable(err))
	}
	return context.Cause(ctx)
}

// counting adds to the error of an issuer that is away until when its keys count, for those who have to mend it.
func (a *Access) counting(err error) error {
	away, is := errors.AsType[*AwayError](err)
	a.issuer.mu.Lock()
	renewed := a.issuer.renewed
	a.issuer.mu.Unlock()
	if !is || renewed.IsZero() {
		return err
	}
	return &AwayError{fmt.Errorf("%w; its keys were renewed last at %s and count until %s", away.err, stamp(renewed), stamp(renewed.Add(oldest)))}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (a *Access) renew(ctx context.Context) error {
	about, err := oidc.NewProvider(ctx, a.Tokens.Issuer)
	if err != nil {
		return err
	}
	var at struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := about.Claims(&at); err != nil {
		return err
	}
	// The verifier of the provider fetches keys for the first token, which may be when the issuer is away. A verifier of
	// these keys takes the algorithms that the provider's own would.
	own := context.WithoutCancel(ctx)
	if asks, ok := ctx.Value(oauth2.HTTPClient).(*http.Client); ok {
		own = oidc.ClientContext(own, &http.Client{Timeout: asks.Timeout, Transport: &seldom{next: asks.Transport}})
	}
	keys := keySet{oidc.NewRemoteKeySet(own, at.Keys)}
	if _, err := keys.VerifySignature(ctx, unsigned); notFetched(err) {
		return fmt.Errorf("%s: %w", at.Keys, err)
	}
	verifier := oidc.NewVerifier(a.Tokens.Issuer, keys, &oidc.Config{ClientID: a.Tokens.Audience, SupportedSigningAlgs: known(at.Algorithms)})
	a.issuer.mu.Lock()
	defer a.issuer.mu.Unlock()
	a.issuer.verifier, a.issuer.renewed = verifier, time.Now()
	return nil
}

// known returns the algorithms with a public key among those that an issuer names; nil means RS256.
func known(all []string) (of []string) {
	for _, name := range all {
		switch name {
		case oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA:
			of = append(of, name)
		}
	}
	return of
}

// unsigned has the form of a token, and a signature that no key has made, so that keys are fetched for it.
var unsigned = strings.Join([]string{
	base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"-"}`)), base64.RawURLEncoding.EncodeToString([]byte(`{}`)),
	base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
}, ".")

// Watch renews the keys of the issuer until ctx is done, and calls report with what became of it: now and then, and once a
// token could not be checked since the issuer did not answer.
func (a *Access) Watch(ctx context.Context, report func(error)) {
	a.watch(ctx, renewEvery, renewAgain, report)
}

func (a *Access) watch(ctx context.Context, every, again time.Duration, report func(error)) {
	missed := make(chan struct{}, 1)
	a.issuer.missed.Store(&missed)
	next := time.NewTimer(every)
	defer next.Stop()
	for look := missed; ; {
		select {
		case <-next.C:
		case <-look:
		case <-ctx.Done():
			return
		}
		err := a.Renew(ctx)
		if ctx.Err() != nil {
			return
		}
		report(err)
		next.Reset(every)
		if look = missed; err != nil {
			look = nil // its outage is known, and tokens do not have it asked more often
			next.Reset(again)
		}
	}
}

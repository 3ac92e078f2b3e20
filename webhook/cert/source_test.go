package cert

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// served returns the leaf that s serves, after making sure that its key is its own.
func served(t testing.TB, s *Source) *x509.Certificate {
	t.Helper()
	c, err := s.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := c.PrivateKey.(crypto.Signer)
	if !ok || !(Pair{Certificate: c.Leaf}).matches(key) {
		t.Fatal("the served key does not belong to the served certificate")
	}
	return c.Leaf
}

// run starts s.Run in the bubble and stops it when the test ends.
func run(t *testing.T, s *Source) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	synctest.Wait()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v after it was stopped", err)
		}
	})
}

// advance lets time pass in the bubble, which costs none outside.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestSourceFollowsTheSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().Build()
		s := FromSecret(c, secretName)
		run(t, s)
		if err := s.Ready(); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("ready without a secret: %v", err)
		}
		if _, err := s.GetCertificate(nil); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("error %v, want %v", err, ErrNotLoaded)
		}
		if !s.NotAfter().IsZero() {
			t.Errorf("expires at %s without a certificate", s.NotAfter())
		}

		first := mustEnsure(t, newManager(c, time.Now()))
		advance(firstInterval)
		if !served(t, s).Equal(first.Leaf.Certificate) {
			t.Error("the first certificate is not served after a second")
		}
		if err := s.Ready(); err != nil {
			t.Error(err)
		}

		m := newManager(c, time.Now())
		m.Names = append([]string{"another.example.com"}, names...)
		renewed := mustEnsure(t, m)
		advance(defaultInterval)
		if !served(t, s).Equal(renewed.Leaf.Certificate) || !s.NotAfter().Equal(renewed.Leaf.Certificate.NotAfter) {
			t.Error("the renewed certificate is not served after the interval")
		}

		if err := c.Delete(t.Context(), mustGet(t, c)); err != nil {
			t.Fatal(err)
		}
		advance(time.Hour)
		if !served(t, s).Equal(renewed.Leaf.Certificate) || s.Ready() != nil {
			t.Error("the last certificate is not served without the secret")
		}
	})
}

func TestSourceNeverServesHalfOfAPair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		certificate, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		write := func(name string, text []byte) {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		old, renewed := first(t), first(t)
		write(certificate, mustData(t, old)[KeyCertificate])
		s := FromFiles(certificate, key)
		run(t, s)
		if err := s.Ready(); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("ready with half of a pair: %v", err)
		}
		write(key, mustData(t, old)[KeyPrivateKey])
		advance(firstInterval)

		steps := []struct {
			what string
			do   func()
			want *Bundle
		}{
			{"nothing", func() {}, old},
			{"a new certificate, the old key", func() { write(certificate, mustData(t, renewed)[KeyCertificate]) }, old},
			{"an empty key", func() { write(key, nil) }, old},
			{"the new key", func() { write(key, mustData(t, renewed)[KeyPrivateKey]) }, renewed},
			{"a huge certificate", func() { write(certificate, make([]byte, maxPEM+1)) }, renewed},
			{"no certificate", func() { _ = os.Remove(certificate) }, renewed},
		}
		for _, step := range steps {
			step.do()
			advance(defaultInterval)
			if !served(t, s).Equal(step.want.Leaf.Certificate) {
				t.Errorf("after %s: the wrong certificate is served", step.what)
			}
		}
	})
}

func TestSourceIsReadyWithinTheCertificatesTime(t *testing.T) {
	t.Parallel()
	data := mustData(t, first(t))
	tests := map[string]struct {
		now  time.Time
		want string
	}{
		"now":       {start, ""},
		"too early": {start.Add(-backdate - time.Second), "begins at 2026-11-30T11:00:00Z only"},
		"too late":  {start.Add(7*day + time.Second), "expired at 2026-12-07T12:00:00Z"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Static(data[KeyCertificate], data[KeyPrivateKey])
			if err != nil {
				t.Fatal(err)
			}
			s.Clock = func() time.Time { return test.now }
			err = s.Ready()
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestStaticRefusesAKeyOfAnother(t *testing.T) {
	t.Parallel()
	if _, err := Static(mustData(t, first(t))[KeyCertificate], mustData(t, first(t))[KeyPrivateKey]); !errors.Is(err, ErrData) {
		t.Errorf("error %v, want %v", err, ErrData)
	}
}

func TestSourceLogsAFaultOnceAndNoKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		s := FromSecret(fake.NewClientBuilder().Build(), secretName)
		s.Log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		run(t, s)
		advance(time.Minute)
		if len(lines) != 1 || !strings.Contains(lines[0], `not found`) {
			t.Errorf("%d lines after a minute without a secret: %q", len(lines), lines)
		}
	})
}

func TestReadCABundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := first(t)
	good, empty := filepath.Join(dir, "good"), filepath.Join(dir, "empty")
	for name, text := range map[string][]byte{good: b.CABundle(), empty: nil} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := ReadCABundle(good); err != nil || string(text) != string(b.CABundle()) {
		t.Errorf("error %v", err)
	}
	if _, err := ReadCABundle(empty); !errors.Is(err, ErrData) {
		t.Errorf("error %v, want %v", err, ErrData)
	}
	if _, err := ReadCABundle(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want %v", err, os.ErrNotExist)
	}
}

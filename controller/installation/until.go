package installation

import (
	"context"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Until has all requests end with a context, those included whose caller hands on
// none of its own: a mapper asks for resources like that, and a server may take the
// connection and never answer.
func Until(ctx context.Context, config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &until{ctx, next} })
	return config
}

type until struct {
	ctx  context.Context //nolint:containedctx // it is that of all requests
	next http.RoundTripper
}

func (u *until) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	unbind := context.AfterFunc(u.ctx, func() { cancel(context.Cause(u.ctx)) })
	release := func() { unbind(); cancel(nil) }
	reply, err := u.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	reply.Body = &releasing{reply.Body, release} // it is read after this
	return reply, nil
}

// releasing is a body with which a request ends.
type releasing struct {
	io.ReadCloser
	release func()
}

func (b *releasing) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

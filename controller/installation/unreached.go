package installation

import (
	"errors"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What to do where the API server does not answer, or does not know who asks.
const (
	RenewKubeconfig = "renew the credentials of your kubeconfig; which one counts: --kubeconfig, $KUBECONFIG, ~/.kube/config, and of it --context"
	FindServer      = "see whether 'kubectl get --raw /readyz' answers, and whether it is the right cluster: --kubeconfig, --context"
)

// UnreachedError says that a command cannot begin, as the API server does not answer
// or does not know who asks.
type UnreachedError struct {
	// Host is that of the API server.
	Host string
	// Why is what has failed, and Hint what to do.
	Why, Hint string
}

func (e *UnreachedError) Error() string { return e.Host + " " + e.Why + ": " + e.Hint }

// Unreached makes such an error of that of a request, whatever has sent it. Other
// errors stay as they are.
func Unreached(host string, err error) error {
	var broken *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return &UnreachedError{host, "does not know who you are", RenewKubeconfig}
	case errors.As(err, &broken):
		return &UnreachedError{host, fmt.Sprintf("does not answer (%s)", broken.Err), FindServer}
	}
	return err
}

package node

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// addresses are those of the Pods of one node: 127.A.B.2 to 127.A.B.254, and
// for the API server 10.A.B.n. A and B come from the port of the API server,
// which no other rig has, and lie beyond those of rig.ControlPlane.ServiceRange.
type addresses struct {
	network string // "A.B"
	used    [255]bool
	last    int
}

const nodeAddress = 1

func newAddresses(server string) (addresses, error) {
	parsed, err := url.Parse(server)
	if err != nil {
		return addresses{}, err
	}
	port, err := strconv.Atoi(parsed.Port())
	if err != nil {
		return addresses{}, fmt.Errorf("find addresses for Pods by the port of %s: %w", server, err)
	}
	return addresses{network: fmt.Sprintf("%d.%d", 128+port>>8&127, port&0xff), last: nodeAddress}, nil
}

// take returns a number that no Pod has, the one that was free for longest: an
// old address must not lead to a new Pod.
func (a *addresses) take() (int, error) {
	for range a.used {
		if a.last++; a.last == len(a.used) {
			a.last = nodeAddress + 1
		}
		if !a.used[a.last] {
			a.used[a.last] = true
			return a.last, nil
		}
	}
	return 0, fmt.Errorf("more than %d Pods", len(a.used)-nodeAddress-1)
}

func (a *addresses) give(n int) { a.used[n] = false }

// shown returns the address as the API server sees it, host its real one.
func (a *addresses) shown(n int) string { return fmt.Sprintf("10.%s.%d", a.network, n) }

func host(shown string) string {
	if rest, ok := strings.CutPrefix(shown, "10."); ok {
		return "127." + rest
	}
	return shown
}

// Address returns the address at which the processes of a Pod can be reached
// from this machine, "" as long as the Pod has none.
func Address(pod *corev1.Pod) string { return host(pod.Status.PodIP) }

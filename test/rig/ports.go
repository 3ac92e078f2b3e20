package rig

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are taken below the range of outgoing connections (32768 and up on
// Linux): from inside it, a client's connection could sit on the port of a
// killed server when that is restarted.
const (
	firstPort = 20000
	lastPort  = 32000
)

// given are the ports that were handed out in this process.
var given struct {
	mu    sync.Mutex
	ports map[int]bool
}

// FreeAddress returns a loopback address, host:port, that nobody listens on
// now. In this process it is not handed out again; and no client's connection
// takes its port, as it may one that was listened on with port 0 and closed.
func FreeAddress() (string, error) {
	ports, err := freePorts(1)
	if err != nil {
		return "", err
	}
	return loopback(ports[0]), nil
}

// freePorts returns n loopback ports that nobody listens on now and that were
// not returned before. Another process may take one before it is used: Start
// tries again then.
func freePorts(n int) ([]int, error) {
	given.mu.Lock()
	defer given.mu.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	ports := make([]int, 0, n)
	for tries := 0; len(ports) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("find a free port from %d to %d: none in %d tries", firstPort, lastPort, tries)
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		if given.ports[port] {
			continue
		}
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		defer listener.Close() // held to the end
		given.ports[port] = true
		ports = append(ports, port)
	}
	return ports, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// serviceRange returns the range of ClusterIPs of the API server on port: its
// own loopback network, so that a program of this machine can listen on them.
func serviceRange(port int) string { return fmt.Sprintf("127.%d.%d.0/24", port>>8, port&0xff) }

// firstServiceIP returns the ClusterIP of the Service "kubernetes".
func firstServiceIP(port int) net.IP { return net.IPv4(127, byte(port>>8), byte(port), 1) }

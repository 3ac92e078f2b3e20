package rig

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken below the range of outgoing connections (32768 and up on
// Linux): from inside it, a client's connection could sit on the port of a
// killed server when that is restarted.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePorts returns n loopback ports that nobody listens on now. Somebody may
// before they are used: Start tries again then.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for tries := 0; len(ports) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("find a free port from %d to %d: none in %d tries", firstPort, lastPort, tries)
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		defer listener.Close() // held to the end, so that no port comes twice
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

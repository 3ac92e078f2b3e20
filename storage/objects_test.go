package storage

import (
	"testing"
)

// decode reads an object as unstructured holds it.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := DecodeValue([]byte(text))
	if err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v.(map[string]any)
}

func path(t testing.TB, text string) Path {
	t.Helper()
	p, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func paths(t testing.TB, texts ...string) []Path {
	t.Helper()
	all := make([]Path, len(texts))
	for i, text := range texts {
		all[i] = path(t, text)
	}
	return all
}

const certificate = `{
  "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
  "metadata": {
    "name": "shop", "namespace": "web", "uid": "6f1c7f0e-8a53-4a3e-9d0a-2c5f8f1f9b11",
    "resourceVersion": "81723", "generation": 3, "creationTimestamp": "2026-03-01T09:59:58Z",
    "labels": {"app.kubernetes.io/name": "shop", "team": "checkout"},
    "annotations": {
      "example.com/owner": "alice",
      "kubectl.kubernetes.io/last-applied-configuration": "{\"kind\":\"Certificate\"}",
      "dogear.dev/state": "Succeeded"
    },
    "finalizers": ["dogear.dev/finalizer"],
    "managedFields": [{"manager": "kubectl", "operation": "Apply", "apiVersion": "cert-manager.io/v1"}]
  },
  "spec": {
    "secretName": "shop-tls", "duration": "2160h0m0s", "renewBefore": "360h0m0s",
    "subject": {"organizations": ["Example GmbH"]},
    "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
    "usages": ["server auth", "client auth"],
    "dnsNames": ["shop.example.com", "www.shop.example.com"],
    "issuerRef": {"name": "letsencrypt", "kind": "ClusterIssuer", "group": "cert-manager.io"}
  },
  "status": {
    "notAfter": "2026-05-30T09:59:59Z", "revision": 1,
    "conditions": [{
      "type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 3,
      "message": "Certificate is up to date and has not expired", "lastTransitionTime": "2026-03-01T10:00:03Z"
    }, {
      "type": "Issuing", "status": "False", "reason": "Issued",
      "message": "The certificate has been issued", "lastTransitionTime": "2026-03-01T10:00:02Z"
    }]
  }
}`

// service is as it is stored, after the allocators.
const service = `{
  "apiVersion": "v1", "kind": "Service",
  "metadata": {"name": "shop", "namespace": "web", "uid": "b21f", "resourceVersion": "7", "labels": {"app": "shop"}},
  "spec": {
    "type": "LoadBalancer", "selector": {"app": "shop"},
    "clusterIP": "10.96.12.7", "clusterIPs": ["10.96.12.7"],
    "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
    "ports": [
      {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30412},
      {"name": "https", "protocol": "TCP", "port": 443, "targetPort": "tls", "nodePort": 31877}
    ],
    "allocateLoadBalancerNodePorts": true, "externalTrafficPolicy": "Local", "healthCheckNodePort": 32001,
    "internalTrafficPolicy": "Cluster", "sessionAffinity": "None"
  },
  "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}
}`
